"""A committed run that is made again on another machine: which verdicts stay, and which turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from attreval.core.project import Results
from attreval.report.publishing.pieces import UNKNOWN, processor_of, read_committed
from attreval.report.publishing.places import PAPERS

FILE = "elsewhere.json"
KEPT = ("claim", "verdict", "value", "low", "high")


def read_elsewhere(run: Results) -> list[dict]:
    """What other machines said of a committed run's claims: KEPT of each, with processor, commit and date."""
    path = run.root / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def carry_over(earlier: Results, claims: Sequence[Mapping], steps: Mapping[str, Mapping]) -> list[dict]:
    """What other machines than that of `steps` said of these claims: kept from before, and of what is now replaced.

    claims: the new ones. steps: the new records by name. Of a machine and claim, the last that was committed.
    """
    kept = {(row["claim"], row["processor"]): row for row in read_elsewhere(earlier)}
    path = earlier.root / "claims.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    old = read_committed(earlier).get("steps", {})
    for row in before:
        record = old.get(PAPERS[row["paper"]][1], {})
        made = {
            "processor": processor_of(record),
            "commit": record.get("commit"),
            "date": record.get("finished", "")[:10],
        }
        kept[row["claim"], made["processor"]] = {name: row[name] for name in KEPT} | made
    here = {row["claim"]: processor_of(steps.get(PAPERS[row["paper"]][1], {})) for row in claims}
    return [row for (claim, machine), row in sorted(kept.items()) if here.get(claim, machine) != machine != UNKNOWN]


def describe_elsewhere(claims: Sequence[Mapping], elsewhere: Sequence[Mapping]) -> list[str]:
    """For each other machine, how many of its verdicts are the same here, and those that are not."""
    here = {row["claim"]: row for row in claims}
    lines = []
    for processor, commit, date in sorted({(row["processor"], row["commit"], row["date"]) for row in elsewhere}):
        rows = [row for row in elsewhere if (row["processor"], row["commit"], row["date"]) == (processor, commit, date)]
        turned = [row for row in rows if row["verdict"] != here[row["claim"]]["verdict"]]
        said = "; ".join(
            f"`{row['claim']}` {row['verdict']} ({_value(row)}), here {here[row['claim']]['verdict']} "
            f"({_value(here[row['claim']])})"
            for row in turned
        )
        lines.append(
            f"Made on another machine too, {processor} (commit `{commit}`, {date}): {len(rows) - len(turned)} of "
            f"{len(rows)} verdicts are the same. {f'Others: {said}.' if said else ''}".rstrip()
        )
    return lines


def _value(row: Mapping) -> str:
    """A claim's value with its interval."""
    return "no value" if row["value"] is None else f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
