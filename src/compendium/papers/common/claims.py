"""What the papers claim and whether it holds here: paper/claims.yml, our values, and a verdict on each claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError

from attreval.core.section import Section, explain_error
from attreval.core.tables import read_csv
from compendium import project
from compendium.papers.common.verdicts import LEAST_TEXTS, VERDICTS, Expectation, Finding, adjust, decide, untested

COLUMNS = ["claim", "paper", "where", "statement", "measure", "reported", "published", "claimed", "value"]
COLUMNS += ["low", "high", "null_scores", "null_names", "null_p", "q", "texts", "models", "seeds"]
COLUMNS += ["corpus", "model", "metric", "basis", "verdict", "reason", "sequel"]
Contrast = TypeVar("Contrast")


class Measured(Section):
    """One thing that was changed while the others stayed, and the table that holds the claim's number then.

    measured: a CSV table of the repository. where: values of its columns that one row has. value, low, high: columns.
    """

    what: Literal["model", "corpus", "metric", "protocol", "size"]
    how: str
    measured: str
    where: dict[str, str | int | float | bool]
    value: str
    low: str = ""
    high: str = ""

    def became(self) -> str:
        """The number, with its interval where there is one. ValueError: no such table, or not one such row."""
        path = project.home() / self.measured
        if not path.is_file():
            raise ValueError(f"claims.yml, reasons: {self.measured} is not in the repository")
        frame = read_csv(path)
        if unknown := {*self.where, self.value, self.low, self.high} - {"", *frame.columns}:
            raise ValueError(f"claims.yml, reasons: {self.measured} has no column {', '.join(sorted(unknown))}")
        for column, wanted in self.where.items():
            frame = frame[frame[column].astype(str) == str(wanted)]
        if len(frame) != 1:
            said = f"{len(frame)} rows of {self.measured} match {self.where}; one is wanted"
            raise ValueError(f"claims.yml, reasons: {said}")
        row = frame.iloc[0]
        between = f" [{row[self.low]:.3f}, {row[self.high]:.3f}]" if self.low and self.high else ""
        return f"{row[self.value]:.3f}{between}"


class Reason(Section):
    """Why a claim has its verdict in a profile's committed run. It is stale once the verdict changes."""

    profile: str
    verdict: Literal[VERDICTS]
    because: str
    turned: list[Measured] = Field(min_length=1)


class Claim(Section):
    """One claim of a paper.

    title: a few words for pictures. measure: our number in words. reported: what the paper has, in words. contrast: how
    the number is made, for the judge that knows contrasts. why_not: why it cannot be tested here, if so. sequel: the
    work in the bibliography that came after the paper and makes the claim, where it is not the paper's own. reasons:
    why it does not hold in a committed run.
    """

    id: str
    title: str = Field(max_length=36)
    paper: Literal["poerner2018", "kamp2023", "zhao2023", "sun2024"]
    where: str
    statement: str
    measure: str
    reported: str
    expect: Expectation
    contrast: dict[str, Any] | None = None
    why_not: str = ""
    sequel: str = ""
    reasons: tuple[Reason, ...] = ()

    def ask(self, kind: type[Contrast]) -> Contrast:
        """The contrast as a record of `kind`, lists as tuples. ValueError where it names a field that there is not."""
        known, given = get_type_hints(kind), self.contrast or {}
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"claim {self.id}: a contrast has no {unknown[0]!r}; it has: {', '.join(known)}")
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})


def read_claims(paper: str | None = None, path: Path | None = None) -> list[Claim]:
    """The claims of paper/claims.yml, or those of one paper. Raises ValueError that says what is wrong with which."""
    path = path or project.home() / "paper" / "claims.yml"
    claims = []
    for at, entry in enumerate(project.read_yaml(path) or []):
        try:
            claims.append(Claim.model_validate(entry))
        except ValidationError as error:
            name = entry.get("id", f"number {at + 1}") if isinstance(entry, dict) else f"number {at + 1}"
            problems = "; ".join(explain_error(problem, Claim) for problem in error.errors())
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
    among: int = 0,
) -> pd.DataFrame:
    """One row a claim with our value, its nulls and a verdict; p-values are adjusted over the claims of all papers.

    found: by claim id. published: by claim id, the same number made from the paper's own tables, where they decide it.
    among: how many claims there are in all, if more.
    """
    for given in (found, published or {}):
        if unknown := [name for name in given if name not in {claim.id for claim in claims}]:
            raise ValueError(f"values for a claim {unknown[0]!r} that paper/claims.yml does not have")
    findings = [untested(c.why_not) if c.why_not else _checked(found.get(c.id, untested("not run"))) for c in claims]
    p = [np.nan if f.reason else f.p(claim.expect) for claim, f in zip(claims, findings, strict=True)]
    rows, adjusted = [], adjust(np.array(p), among)
    for claim, finding, q in zip(claims, findings, adjusted, strict=True):
        low, high = finding.interval(confidence)
        tested, null_means = not (finding.reason and np.isnan(finding.value)), finding.null_means()
        row = claim.model_dump(include={"paper", "where", "statement", "measure", "reported", "sequel"})
        row |= {"claim": claim.id, "published": (published or {}).get(claim.id, np.nan), "claimed": say(claim.expect)}
        row |= {"value": finding.value, "low": low, "high": high, "q": q, "null_p": finding.null_p(claim.expect)}
        row |= dict(zip(("null_scores", "null_names"), null_means, strict=True))
        row |= {name: getattr(finding, name) for name in ("texts", "models", "seeds", "corpus", "model", "basis")}
        row |= {"metric": finding.metric if tested else "", "reason": finding.reason}
        rows.append(row | {"verdict": decide(claim.expect, finding, q, confidence)})
    return pd.DataFrame(rows, columns=COLUMNS)


def _checked(finding: Finding) -> Finding:
    """The finding; one on too few texts, or on nothing, with the reason why it decides nothing."""
    if finding.reason:
        return finding
    if np.isnan(finding.value):
        return untested(finding.basis or "nothing in this run tests it")
    if finding.texts < LEAST_TEXTS:
        why = f"{finding.texts} texts decide nothing; a claim needs {LEAST_TEXTS} of each task"
        return replace(finding, reason=why)
    return finding


def say(expect: Expectation) -> str:
    """A claimed range in words: `above 0`, `4 to 5`."""
    if expect.near is not None:
        return f"{expect.ends[0]:.4g} to {expect.ends[1]:.4g}"
    return f"above {expect.above:g}" if expect.above is not None else f"below {expect.below:g}"


def scorecard(tables: Path) -> pd.DataFrame:
    """The verdicts that the notebooks of a profile have written, put together."""
    paths = sorted(tables.glob("*_claims.csv"))
    if not paths:
        raise FileNotFoundError(f"no claims at {tables}: run the profile first, `attreval run --profile NAME`")
    return pd.concat([pd.read_csv(path, keep_default_na=False, na_values=[""]) for path in paths], ignore_index=True)


def for_people(table: pd.DataFrame) -> str:
    """A scorecard in words: by claim its verdict, our value, what chance gives, and how many texts."""
    out = []
    for row in table.itertuples():
        why = f" ({row.reason})" if isinstance(row.reason, str) and row.reason else ""
        out += [f"{row.verdict}: {row.claim}, {row.paper}{why}", f"    {row.statement}"]
        if pd.isna(row.value):
            continue
        said = [f"ours {row.value:+.3f} [{row.low:+.3f}, {row.high:+.3f}], claimed {row.claimed}"]
        said += [f"published {row.published:+.3f}"] if pd.notna(row.published) else []
        nulls = (("with random scores", row.null_scores), ("with exchanged names", row.null_names))
        said += [f"{name} {null:+.3f}" for name, null in nulls if pd.notna(null)]
        own = "".join(
            f"; {name} {value}" for name in ("corpus", "model", "metric") if pd.notna(value := getattr(row, name))
        )
        out.append(f"    {'; '.join(said)}; {row.texts:.0f} texts{own}")
    out += [f"{count:>4} {verdict}" for verdict, count in table.verdict.value_counts().items()]
    return "\n".join(out)
