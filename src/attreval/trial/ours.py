"""What our own metrics came to in the worlds whose truth is known: the board's file, which the wheel carries."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = "attreval.jsonl"  # of the board; see board/README.md


@cache
def shares_sure() -> dict[str, float]:
    """Metric -> in which share of the worlds it surely puts the truth before random scores."""
    here = Path(__file__).resolve()
    places = (here.with_name(FILE), here.parents[3] / "board" / FILE)  # of a wheel, of a checkout
    found: dict[str, list[bool]] = {}
    for line in next(path for path in places if path.exists()).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["metric"], []).append(row["low"] > 0.5)
    return {metric: sum(sure) / len(sure) for metric, sure in found.items()}


def share_sure(metric: str) -> float:
    """The same of one metric; 1 where it compares with people, whom no made-up world has."""
    return shares_sure().get(metric, 1.0)
