"""attreval verify: a run's tables and verdicts beside those of a committed run, cell by cell.

The rows of a table are known by what stands in its first columns, as many as tell its committed
rows apart, so that their order says nothing. Long fractions are cut to the digits that committed
tables have. What is the machine's (OF_MACHINE) is not compared; seconds and dates stand in no
table.
"""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pandas as pd

from compendium import project
from compendium.papers.common.claims import read_claims
from compendium.papers.common.tables import table_of
from compendium.papers.common.verdicts import NULL_LEVEL, Verdict
from compendium.project import Results
from compendium.site.committed import claims_json, committed_runs, cut_numbers
from compendium.site.fidelity import STEP_OF
from compendium.site.markdown import pipe_table, with_minus
from compendium.site.tables import csv_files

# by which a fraction may differ, one or the other; a whole number may not
RELATIVE = 1e-3
ABSOLUTE = 1e-6
# columns that name a device or how it computes, and ends of the names of tables on that
OF_MACHINE = ("device", "precision", "sampled_precision")
NO_MATTER = ("name", "device", "workers", "left_out")  # settings that decide no number
NUMBER = re.compile(r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
LETTER = re.compile(r"[^\W\d_]")
MOST_NAMED = 3
RESTS_ON = {
    "low": "the interval's lower end",
    "high": "the interval's upper end",
    "null_p": "the share of null worlds that support it as much",
    "q": "the adjusted p",
}
ALONE = "No other run is committed."


class State(StrEnum):
    """How a number stands to the committed one; words count where they differ."""

    EQUAL = "equal"
    NEAR = "within tolerance"
    BEYOND = "beyond tolerance"
    MISSING = "not in this run"
    NEW = "in this run alone"
    WORDS = "words otherwise"


STATES = list(State)
AS_COMMITTED = STATES[:2]
OTHERWISE = STATES[2:]


class NothingToCompareError(ValueError):
    """There is no run here, or no committed one, or no such table in it."""

    status = 2  # with which a command ends


@dataclass(frozen=True)
class Comparison:
    """A run beside a committed one.

    cells: a row a number, and a row a cell whose words differ: table, notebook, row, column,
    committed, here, state. judged: how many verdicts the committed run has. turned: those that are
    others here, and why. apart: what the runs were made with that is not the same.
    """

    cells: pd.DataFrame
    judged: int
    turned: list[dict[str, str]]
    apart: list[str]

    @property
    def otherwise(self) -> pd.DataFrame:
        """The cells that are not as committed."""
        return self.cells[self.cells.state.isin(OTHERWISE)]

    @property
    def as_committed(self) -> bool:
        return self.otherwise.empty and not self.turned

    @property
    def line(self) -> str:
        """The comparison in one line."""
        counts = self.cells.state.value_counts().reindex(STATES, fill_value=0)
        same = counts[AS_COMMITTED].sum()
        total = same + counts[State.BEYOND] + counts[State.MISSING]
        told = ", ".join(f"{counts[state]:,} {state}" for state in STATES[1:] if counts[state])
        text = f"{same:,} of {total:,} numbers as committed" + (f" ({told})" if told else "")
        if self.judged:
            text += f"; {self.judged - len(self.turned)} of {self.judged} verdicts"
        return text + "".join(f"; {one}" for one in self.apart)

    def counts(self, by: str) -> pd.DataFrame:
        """How many cells are in which state. by: `table` or `notebook`."""
        counts = pd.crosstab(self.cells[by], self.cells.state)
        return counts.reindex(columns=STATES, fill_value=0).reset_index()

    @property
    def tables_otherwise(self) -> pd.DataFrame:
        """The counts of the tables that are not as committed."""
        counts = self.counts("table")
        return counts[counts.table.isin(self.otherwise.table)]


def verify_run(profile: str, only: Sequence[str] = ()) -> Comparison:
    """Compare the run of a profile here with its committed run.

    Args:
        profile: its name.
        only: patterns of tables' names, such as `05_*`; then no verdicts are compared.

    Raises:
        NothingToCompareError: there is no run here, or no committed one, or no such table in it.
    """
    there = committed_runs()
    if profile not in there:
        raise NothingToCompareError(
            f"no run of profile {profile!r} is committed that one here could be compared with; of "
            f"these there are: {', '.join(there) or 'none'}"
        )
    run = project.results(profile)
    if not csv_files(run.tables):
        raise NothingToCompareError(
            f"profile {profile!r} has no results here that could be compared with the committed "
            f"ones; `attreval run --profile {profile}` makes them"
        )
    return compare_runs(run, there[profile], only)


def compare_runs(run: Results, stored: Results, only: Sequence[str] = ()) -> Comparison:
    """Compare a run with a committed one: all of its tables, or those that `only` names."""
    found = []
    for name, path in csv_files(stored.tables).items():
        wanted = any(fnmatch(path.stem, pattern) for pattern in only or ["*"])
        if wanted and not path.stem.endswith(OF_MACHINE):
            cells = compare_tables(run.tables / name, path)
            notebook = "_".join(re.split("[_-]", path.stem)[:2])
            found.append(cells.assign(table=path.stem, notebook=notebook))
    if not found:
        raise NothingToCompareError(
            f"no table in {stored.tables} is called {' or '.join(only)}; 05_* would name some"
        )
    claims = [] if only else project.read_json(stored.root / "claims.json")
    turned = turned_verdicts(claims, run, stored)
    return Comparison(pd.concat(found), len(claims), turned, [*_tell_apart(stored, run)])


def _tell_apart(stored: Results, run: Results) -> Iterator[str]:
    """The processors, if one trains other networks than the other, and corpora had here alone."""
    there = stored.facts()
    here = run.facts()
    if not (there and here):
        return
    machines = [one["machine"] for one in (there, here)]
    processors = [f"{one['processor']}, {one['instructions']}" for one in machines]
    if processors[0] != processors[1]:
        yield f"networks were trained on another processor ({processors[0]}; here {processors[1]})"
    if more := sorted(here["corpora"].keys() - there["corpora"].keys()):
        yield f"the committed run was without {', '.join(more)}"


@table_of("row column committed here state")
def compare_tables(path: Path, stored: Path) -> Iterator[tuple]:
    """One row a number, and one a cell whose words differ.

    path: of the run here, which may have no such table.
    """
    columns, rows = _read_table(stored)
    starts = [columns[:count] for count in range(1, len(columns))]
    distinct = (some for some in starts if len({_name_row(row, some) for row in rows}) == len(rows))
    key = next(distinct, columns[:1])
    there = _read_cells(rows, key)
    here = _read_cells(_read_table(path)[1], key) if path.exists() else {}
    for place in there | here:
        sides = (there.get(place), here.get(place))
        state = compare_cells(*sides)
        if state:
            yield *place, *sides, state


def _read_table(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The columns and rows of a table, as texts, long fractions cut."""
    reader = csv.DictReader(io.StringIO(cut_numbers(path.read_text(encoding="utf-8"))))
    return list(reader.fieldnames or ()), list(reader)


def _name_row(row: Mapping[str, str], key: list[str]) -> str:
    return ", ".join(row.get(column, "") for column in key)


def _read_cells(rows: list[dict[str, str]], key: list[str]) -> dict[tuple[str, str], str]:
    """The cells of a table by row and column; rows with one key are numbered in their order."""
    seen: Counter[str] = Counter()
    cells = {}
    for row in rows:
        name = _name_row(row, key)
        again = f" (again, {seen[name]})" if seen[name] else ""
        seen[name] += 1
        for column, text in row.items():
            if column not in (*key, *OF_MACHINE):
                cells[name + again, column] = text
    return cells


def compare_cells(stored: str | None, found: str | None) -> State | None:
    """How a cell stands to the committed one; None for words that are the same, and for nothing.

    stored, found: None where a run has no such row or column.
    """
    if not (stored or found):
        return None
    numbers = any(_is_number(text) for text in {stored, found} if text)
    if stored is None:
        state = State.NEW
    elif found is None:
        state = State.MISSING
    else:
        state = _compare_texts(stored, found)
    if numbers:
        return state
    return None if state in AS_COMMITTED else State.WORDS


def _is_number(text: str) -> bool:
    """Whether a cell is a number, or several such as `0.50 (0.43)`, and no words."""
    rest = NUMBER.sub("", text)
    return rest != text and not LETTER.search(rest)


def _compare_texts(stored: str, found: str) -> State:
    """How the numbers in two texts stand to each other; between them the texts must be the same."""
    if stored == found:
        return State.EQUAL
    there, here = (NUMBER.split(text) for text in (stored, found))  # texts and numbers by turns
    if there[::2] != here[::2]:
        return State.BEYOND
    pairs = zip(map(float, there[1::2]), map(float, here[1::2]), strict=True)
    relative = 0 if stored.isdigit() else RELATIVE
    near = all(math.isclose(*pair, rel_tol=relative, abs_tol=ABSOLUTE) for pair in pairs)
    return State.NEAR if near else State.BEYOND


def turned_verdicts(claims: Sequence[dict], run: Results, stored: Results) -> list[dict[str, str]]:
    """The claims of a committed run that have another verdict here, or none, and why.

    claims: rows of its claims.json.
    """
    own = {row["claim"]: row for row in json.loads(claims_json(run.tables))}
    facts = [one.facts() for one in (stored, run)]
    edges = {one.id: one.expect.ends for one in read_claims()}
    found = []
    for row in claims:
        here = own.get(row["claim"])
        if here and here["verdict"] == row["verdict"]:
            continue
        why = ["its notebook has not run here"]
        if here:
            told = _tell_circumstances(STEP_OF[row["paper"]].judge, *facts)
            why = [
                *filter(None, [here["reason"], row["reason"]]),
                *told,
                *_find_edges(row, here, edges[row["claim"]]),
            ]
        found.append(
            {
                "claim": row["claim"],
                "conclusion": row["statement"],
                "committed": _describe_claim(row),
                "here": _describe_claim(here) if here else "–",
                "why": "; ".join(why) or "not known",
            }
        )
    return found


def _describe_claim(row: Mapping[str, Any]) -> str:
    """Its value, interval, texts and verdict."""
    if row["value"] is None:
        return row["verdict"]
    number = with_minus(f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]")
    return f"{number}, {row['texts']:.0f} texts: {row['verdict']}"


def _tell_circumstances(
    judge: str, stored: Mapping[str, Any], facts: Mapping[str, Any]
) -> Iterator[str]:
    """Corpora that the run here is without, other samples of a judge, and other settings.

    stored, facts: the manifests of the committed run and of the one here; one may be empty.
    """
    if not (stored and facts):
        return
    if lacking := sorted(stored["corpora"].keys() - facts["corpora"].keys()):
        yield f"corpora that are not at hand here: {', '.join(lacking)}"
    if stored["samples"][judge] != facts["samples"][judge]:
        yield f"other samples: {facts['samples'][judge].partition('. Intervals:')[0]}"
    given, other = (pd.json_normalize(one["settings"]).iloc[0] for one in (stored, facts))
    both = given.index.intersection(other.index).difference(NO_MATTER)
    if names := [name for name in both if str(given[name]) != str(other[name])]:
        yield f"settings that differ: {len(names)}, such as {', '.join(names[:MOST_NAMED])}"


def _find_edges(
    row: Mapping[str, Any], here: Mapping[str, Any], ends: Sequence[float]
) -> Iterator[str]:
    """What a verdict rests on that lies on one side of an edge there, and on the other one here.

    ends: of what the claim expects.
    """
    edges = {"low": ends, "high": ends, "null_p": [NULL_LEVEL], "q": [NULL_LEVEL]}
    for name, said in RESTS_ON.items():
        if row[name] is None or here[name] is None:
            continue
        for edge in edges[name]:
            if (row[name] > edge) != (here[name] > edge):
                numbers = f"{row[name]:.3g} there, {here[name]:.3g} here"
                yield f"an edge: {said} is {numbers}, on either side of {edge:g}"


def machine_markdown(profile: str) -> str:
    """What the page on this machine's run says; where there is nothing to compare, how to get it.

    profile: its name.
    """
    try:
        found = verify_run(profile)
    except NothingToCompareError as error:
        return f"Nothing is compared here: {error}.\n"
    parts = {
        "Numbers by notebook": found.counts("notebook"),
        "Tables that are not as committed": found.tables_otherwise,
        "Verdicts that differ": pd.DataFrame(found.turned),
    }
    shown = [f"# {title}\n\n{_table_markdown(part)}" for title, part in parts.items()]
    return "\n\n".join([f"Profile *{profile}*: **{found.line}**.", *shown])


def other_runs(profile: str, results: Results) -> tuple[str, str]:
    """A sentence on how many verdicts differ from the committed runs', and a table of them.

    A committed run that has the same claims, to the digit, is the run itself. A conclusion that
    only one of two runs tests is none on which they differ.
    """
    own = json.loads(claims_json(results.tables))
    here = {row["claim"] for row in own if _is_tested(row)}
    sentences = []
    rows = []
    for name, run in committed_runs().items():
        claims = project.read_json(run.root / "claims.json")
        both = [row for row in claims if _is_tested(row) and row["claim"] in here]
        if both and claims != own:
            turned = turned_verdicts(both, results, run)
            rows += [{"committed run": name} | row for row in turned]
            sentences.append(
                f"of the {len(both)} conclusions that both test, {len(turned)} have another "
                f"verdict in the committed run of profile {name}"
            )
    if not sentences:
        return ALONE, f"| |\n|:--|\n| {ALONE} |\n"
    text = "; ".join(sentences) + "."
    table = pd.DataFrame(rows).drop(columns="why", errors="ignore")  # profiles differ by intent
    return text[0].upper() + text[1:], _table_markdown(table)


def _is_tested(row: Mapping[str, Any]) -> bool:
    """Whether a run tests a conclusion. row: of its claims.json."""
    return row["verdict"] != Verdict.UNTESTABLE and row["value"] is not None


def _table_markdown(table: pd.DataFrame) -> str:
    """A table as Markdown, its numbers on the right; the claims' ids are left out."""
    if table.empty:
        return "| |\n|:--|\n| None. |\n"
    shown = table.drop(columns="claim", errors="ignore")
    align = ["right" if shown[name].dtype.kind == "i" else "left" for name in shown]
    return pipe_table([*shown], shown.astype(str).to_numpy().tolist(), align)
