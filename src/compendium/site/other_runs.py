"""Other runs: the conclusions on which a committed run has another verdict than the run that is shown."""

from __future__ import annotations

import json

from compendium.papers.common.verdicts import UNTESTABLE
from compendium.project import Results
from compendium.site.committed import claims_json, committed_runs
from compendium.site.markdown import pipe_table, with_minus

ALONE = "No other run is committed."


def other_runs(profile: str, results: Results) -> tuple[str, str]:
    """A sentence on how many verdicts differ, and a table of these conclusions, of a run beside the committed ones.

    A committed run that has the same claims, to the digit, is the run itself. A conclusion that only one of two runs
    tests is none on which they differ.
    """
    said = claims_json(results.tables) if any(results.tables.glob("[!.]*_claims.csv")) else ""
    here = _judged(said)
    others = {name: (run.root / "claims.json").read_text(encoding="utf-8") for name, run in committed_runs().items()}
    there = {name: _judged(claims) for name, claims in others.items() if claims != said and _judged(claims)}
    if not here or not there:
        return ALONE, f"| |\n|:--|\n| {ALONE} |\n"
    sentences, differing = [], {}
    for name, claims in there.items():
        both = [claim for claim in here if claim in claims]
        turned = [claim for claim in both if here[claim]["verdict"] != claims[claim]["verdict"]]
        differing |= dict.fromkeys(turned)
        sentences.append(
            f"of the {len(both)} conclusions that both test, {len(turned)} have another verdict in the committed run "
            f"of profile {name}"
        )
    text = "; ".join(sentences) + "."
    headers = ["paper", "conclusion", f"this run ({profile})", *(f"committed run ({name})" for name in there)]
    rows = [
        [
            here[claim]["paper"].rstrip("0123456789").capitalize(),
            here[claim]["statement"],
            *(_cell(run.get(claim)) for run in (here, *there.values())),
        ]
        for claim in here
        if claim in differing
    ]
    rows = rows or [["", "no conclusion has another verdict", *[""] * (1 + len(there))]]
    return text[0].upper() + text[1:], pipe_table(headers, rows, ["left"] * len(headers))


def _judged(claims: str) -> dict[str, dict]:
    """The conclusions that a run tests, by id. claims: a claims.json."""
    rows = json.loads(claims) if claims else []
    return {row["claim"]: row for row in rows if row["verdict"] != UNTESTABLE and row["value"] is not None}


def _cell(row: dict | None) -> str:
    """Value, interval, texts and verdict in one cell; a dash where the run does not test the conclusion."""
    if row is None:
        return "–"
    number = with_minus(f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]")
    return f"{number}, {row['texts']:.0f} texts: {row['verdict']}"
