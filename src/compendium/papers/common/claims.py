"""What the papers claim and whether it holds here: paper/claims.yml, our values, and verdicts.

And what becomes of each conclusion when one thing is changed (turned) and everything else stays as
it was. Rules that a paper and its code leave open are among what is turned: a conclusion that one
of them turns depends on the rule.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError

from attreval.core.section import Section, explain_errors
from compendium import corpora, project
from compendium.config import BootstrapSpec
from compendium.papers.common import verdicts
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.tables import spell, table_of
from compendium.papers.common.verdicts import LEAST_TEXTS, Expectation, Finding, Verdict, untested

OF_THE_CLAIM = spell("paper where words statement measure reported null_world kind sequel")
OF_THE_FINDING = spell("texts models seeds corpus model basis")
COLUMNS = spell(
    "claim paper where words statement measure reported published claimed null_world value low "
    "high null_scores null_names null_p q texts models seeds corpus model metric basis verdict "
    "reason rule turned_by kind sequel"
)
ClaimKind = Literal["conclusion", "check of data", "check of algebra", "check of noise"]
KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)
CONCLUSION = KINDS[0]
STAND_IN = "stand-in for the paper's gold"
NO_GOLD = "the paper's gold, {}, is not at hand, and another stands in"
Contrast = TypeVar("Contrast")


class Claim(Section):
    """One claim of a paper.

    title: a few words for pictures. words: the paper's own. measure: our number in words. reported:
    what the paper has, in words. null_world: what a world without the effect gives. contrast: how
    the number is made, for the judge that knows contrasts. why_not: why it cannot be tested here,
    if so. gold: the task that holds the paper's gold, without which nothing tests it. objection:
    what a second reader holds against the question, and the answer. denied: how the paper's own
    tables deny it, if they do. kind: a conclusion, or no more than a check, which is listed apart.
    sequel: the later work in the bibliography that makes the claim, if not the paper.
    """

    id: str
    title: str = Field(max_length=36)
    paper: Literal["poerner2018", "kamp2023", "zhao2023", "sun2024"]
    where: str
    words: str = ""
    statement: str
    measure: str
    reported: str
    expect: Expectation
    null_world: verdicts.NullWorld
    contrast: dict[str, Any] | None = None
    why_not: str = ""
    objection: str = ""
    denied: str = ""
    gold: str = ""
    kind: ClaimKind = CONCLUSION
    sequel: str = ""

    def ask(self, kind: type[Contrast]) -> Contrast:
        """The contrast as a record of `kind`, lists as tuples.

        Raises ValueError where it names a field that there is not.
        """
        known = get_type_hints(kind)
        given = self.contrast or {}
        if unknown := [name for name in given if name not in known]:
            raise ValueError(
                f"claim {self.id}: a contrast has no {unknown[0]!r}; it has: {', '.join(known)}"
            )
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return kind(**given | lists)


def read_claims(paper: str | None = None, path: Path | None = None) -> list[Claim]:
    """The claims of paper/claims.yml, or those of one paper.

    Raises ValueError that says what is wrong with which.
    """
    path = path or project.home() / "paper" / "claims.yml"
    claims = []
    for at, entry in enumerate(project.read_yaml(path) or []):
        try:
            claims.append(Claim.model_validate(entry))
        except ValidationError as error:
            name = f"number {at + 1}"
            if isinstance(entry, dict):
                name = entry.get("id", name)
            problems = "; ".join(explain_errors(error, Claim))
            raise ValueError(f"{path.name}, claim {name}: {problems}") from None
    names = [claim.id for claim in claims]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{path.name}: the claim {twice[0]!r} stands there twice")
    return [claim for claim in claims if paper in (None, claim.paper)]


def score(
    claims: list[Claim],
    found: Mapping[str, Finding],
    confidence: float = 0.95,
    published: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """One row a claim with our value, its nulls and a verdict; p is adjusted over these claims.

    found: by claim id. published: by claim id, the same number made from the paper's own tables,
        where they decide it.
    """
    published = published or {}
    known = {claim.id for claim in claims}
    if unknown := [name for name in (*found, *published) if name not in known]:
        raise ValueError(f"values for a claim {unknown[0]!r} that paper/claims.yml does not have")
    rows = []
    p = []
    for claim in claims:
        finding = _checked(claim, found.get(claim.id, untested("not run")))
        p.append(np.nan if finding.reason else finding.p(claim.expect))
        row = claim.model_dump(include=set(OF_THE_CLAIM))
        row["claim"] = claim.id
        row["published"] = published.get(claim.id, np.nan)
        row["claimed"] = say_range(claim.expect)
        row |= finding.measures(claim.expect, claim.null_world, confidence)
        row |= {name: getattr(finding, name) for name in OF_THE_FINDING}
        row["metric"] = "" if finding.reason and np.isnan(finding.value) else finding.metric
        row["turned_by"] = ""
        rows.append(row)
    for claim, row, q in zip(claims, rows, verdicts.adjust(np.array(p)), strict=True):
        row["q"] = q
        row["verdict"] = verdicts.decide_verdict(claim.expect, claim.null_world, row, confidence)
    return pd.DataFrame(rows, columns=COLUMNS)


class Judged(NamedTuple):
    """One row a claim, and one row a claim and thing turned."""

    claims: pd.DataFrame
    turned: pd.DataFrame


def _checked(claim: Claim, finding: Finding) -> Finding:
    """The finding; with the reason why it decides nothing, on few texts or on other gold."""
    if claim.why_not:
        return untested(claim.why_not)
    if finding.reason:
        return finding
    if np.isnan(finding.value):
        return untested(finding.basis or "nothing in this run tests it")
    if claim.gold and (finding.corpus == "stand-in" or not corpora.at_hand(claim.gold)):
        return replace(finding, reason=NO_GOLD.format(claim.gold), corpus=STAND_IN)
    few = f"{finding.texts} texts decide nothing; a claim needs {LEAST_TEXTS} of each task"
    return replace(finding, reason=few) if finding.texts < LEAST_TEXTS else finding


def say_range(expect: Expectation) -> str:
    """A claimed range in words: `above 0`, `4 to 5`."""
    if expect.near is not None:
        return f"{expect.ends[0]:.4g} to {expect.ends[1]:.4g}"
    return f"above {expect.above:g}" if expect.above is not None else f"below {expect.below:g}"


def scorecard(tables: Path, checks: bool = True) -> pd.DataFrame:
    """The verdicts of all notebooks of a profile; without `checks`, those on conclusions alone."""
    paths = sorted(tables.glob("*_claims.csv"))
    if not paths:
        raise FileNotFoundError(
            f"no claims at {tables}: run the profile first, `attreval run --profile NAME`"
        )
    parts = [pd.read_csv(path, keep_default_na=False, na_values=[""]) for path in paths]
    table = pd.concat(parts, ignore_index=True)
    return table if checks else table[table.kind == CONCLUSION]


def claim_objections() -> dict[str, str]:
    """What a second reader holds against the question, by claim that one is held against."""
    return {claim.id: claim.objection for claim in read_claims() if claim.objection}


def for_people(table: pd.DataFrame) -> str:
    """A scorecard in words: by claim its verdict, value, nulls, and number of texts."""
    checks = table.kind != CONCLUSION
    against = claim_objections()
    out = []
    for _, row in pd.concat([table[~checks], table[checks]]).astype(object).fillna("").iterrows():
        why = row.reason and f" ({row.reason})"
        kind = "" if row.kind == CONCLUSION else f"{row.kind}, "
        words = row.words and f" (“{row.words}”)"
        out.append(f"{kind}{row.verdict}: {row.claim}, {row.paper}{why}")
        out.append(f"    {row.statement}{words}")
        if row.claim in against:
            out.append(f"    a second reader: {against[row.claim]}")
        if row.value != "":
            out.append(f"    {'; '.join(_say_numbers(row))}")
        if row.turned_by:
            out.append(f"    turned by {row.turned_by}")
    counts = table[~checks].verdict.value_counts()
    return "\n".join([*out, *(f"{count:>4} {verdict}" for verdict, count in counts.items())])


def _say_numbers(row: pd.Series) -> Iterator[str]:
    """The numbers of a claim, one part of a sentence each; what is not known is empty."""
    yield f"ours {row.value:+.3f} [{row.low:+.3f}, {row.high:+.3f}], claimed {row.claimed}"
    yield f"null: {row.null_world}"
    others = {
        "published": row.published,
        "with random scores": row.null_scores,
        "with exchanged names": row.null_names,
    }
    yield from (f"{name} {value:+.3f}" for name, value in others.items() if value != "")
    yield f"{row.texts:.0f} texts"
    own = row[["corpus", "model", "metric"]]
    yield from (f"{name} {value}" for name, value in own.items() if value != "")


INSIDE = "holds"  # what a turned conclusion may do
OPEN = "open"
OUTSIDE = "does not hold"
FEW = "too few texts"
LEAST_NULLS = 19  # what a profile may ask for at least; a turned number is not compared with chance
MOST_DRAWS = 1000  # of a turned number, of which there are many
Turnable = Literal["model", "corpus", "method", "metric", "protocol"]


@dataclass(frozen=True)
class Turn:
    """One thing turned: which, and to what.

    finding: the conclusion's number then, None where nothing tests it. expect: the range that it
    must lie in, where another number is asked than the conclusion's own. open: whether it is a rule
    that the paper and its code leave open.
    """

    what: Turnable
    how: str
    finding: Finding | None
    expect: Expectation | None = None
    open: bool = False


Turning = Callable[[Claim], Iterable[Turn]]  # what a conclusion is when something else is turned
TITLES = {"task": task_title, "model": model_title}


def each_alone(
    rows: pd.DataFrame, columns: Mapping[str, Turnable]
) -> Iterator[tuple[Turnable, str, pd.DataFrame]]:
    """For each distinct value of a column that has several: what is turned, to what, its rows."""
    for column, what in columns.items():
        names = rows[column].dropna().unique()
        for name in names if len(names) > 1 else ():
            yield what, TITLES.get(column, str)(name), rows[rows[column] == name]


@table_of("claim paper statement what how value low high claimed texts holds turns depends")
def turned_claims_table(
    claims: Iterable[Claim],
    judged: pd.DataFrame,
    turn: Turning,
    confidence: float,
) -> Iterator[tuple]:
    """One row a tested conclusion and thing turned: its number, and whether it holds then.

    turns: whether it is the opposite then, of what is undecided either. depends: whether it is an
    open rule that moves the number by more than intervals, to where it holds otherwise.
    """
    tested = judged[judged.verdict != Verdict.UNTESTABLE].set_index("claim")
    for claim in claims:
        if claim.id not in tested.index:
            continue
        own = tested.loc[claim.id, ["value", "low", "high"]].astype(float)
        own_held = interval_holds(claim.expect, own.low, own.high, LEAST_TEXTS)
        opposite = {INSIDE: (OUTSIDE,), OUTSIDE: (INSIDE,)}.get(own_held, (INSIDE, OUTSIDE))
        for one in turn(claim):
            found = one.finding
            if found is None or np.isnan(found.value):
                continue
            expect = one.expect or claim.expect
            ends = found.interval(confidence)
            if np.allclose([found.value, *ends], own):
                continue  # it has no part in this conclusion
            about = (claim.id, claim.paper, claim.statement, one.what, one.how)
            held = interval_holds(expect, *ends, found.texts)
            apart = ends[0] > own.high or ends[1] < own.low
            depends = one.open and apart and held != own_held
            numbers = (found.value, *ends, say_range(expect), found.texts)
            yield *about, *numbers, held, held in opposite, depends


def settle(
    claims: Sequence[Claim],
    judged: pd.DataFrame,
    turn: Turning,
    confidence: float,
) -> Judged:
    """The verdicts with what turns them. judged: of `score` on these claims."""
    turned = turned_claims_table(claims, judged, turn, confidence)
    by_claim = dict(list(turned.groupby("claim", sort=False)))
    rows = []
    for claim, row in zip(claims, judged.to_dict("records"), strict=True):
        changes = by_claim.get(claim.id, turned[:0])
        opposite = changes[changes.turns.astype(bool)]
        if len(changes):
            said = [f"{one.what} {one.how} ({one.value:.3f})" for one in opposite.itertuples()]
            row["turned_by"] = f"{len(said)} of {len(changes)} changes"
            if said:
                row["turned_by"] += f": {', '.join(said)}"
        row["rule"] = "; ".join(changes.how[changes.depends.astype(bool)])
        row["verdict"] = verdicts.decide_verdict(claim.expect, claim.null_world, row, confidence)
        rows.append(row)
    return Judged(pd.DataFrame(rows, columns=COLUMNS), turned)


def interval_holds(expect: Expectation, low: float, high: float, texts: int) -> str:
    """Whether an interval lies inside the claimed range, outside of it, or neither."""
    if texts < LEAST_TEXTS:
        return FEW
    start, end = expect.ends
    if expect.holds(np.array([low, high])).all():
        return INSIDE
    return OUTSIDE if high < start or low > end else OPEN


def quick_draws(settings: BootstrapSpec) -> BootstrapSpec:
    """With as few null worlds as there may be, and draws for an interval, not for a p."""
    return settings.changed(nulls=LEAST_NULLS, draws=min(settings.draws, MOST_DRAWS))
