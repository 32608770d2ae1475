"""What did the papers claim, and does it hold here? paper/claims.yml, our values, and a verdict on each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml
from pydantic import Field, ValidationError, model_validator

from attreval.core import project
from attreval.core.section import Section, explain_error

VERDICTS = ("reproduced", "direction only", "not reproduced", "not testable here")
COLUMNS = ["claim", "paper", "where", "statement", "measure", "reported", "value", "low", "high", "basis", "verdict"]


class Expectation(Section):
    """What a value must be for the claim to hold: above or below a number, or within `within` of one."""

    above: float | None = None
    below: float | None = None
    near: float | None = None
    within: float = Field(0.0, ge=0)

    @model_validator(mode="after")
    def one_of_three(self):
        given = [name for name in ("above", "below", "near") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an expectation is one of above, below, near; got {given or 'none'}")
        return self


class Claim(Section):
    """One claim of a paper. measure: our number in words. reported: what the paper has, in words. contrast: how the
    number is made, for the judge that knows contrasts. why_not: why it cannot be tested here, if so."""

    id: str
    paper: Literal["poerner2018", "kamp2023", "zhao2023", "sun2024"]
    where: str
    statement: str
    measure: str
    reported: str
    expect: Expectation
    contrast: dict[str, Any] | None = None
    why_not: str = ""


def read_claims(paper: str | None = None, path: Path | None = None) -> list[Claim]:
    """The claims of paper/claims.yml, or those of one paper. Raises ValueError that says what is wrong with which."""
    path = path or project.home() / "paper" / "claims.yml"
    claims = []
    for at, entry in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")) or []):
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


def decide(expect: Expectation, value: float, low: float, high: float) -> str:
    """The verdict: `reproduced` where the whole interval is on the claimed side, `direction only` where the value is.

    Near a number: where the value is within the tolerance, and where only some of the interval is. A NaN is no test.
    """
    if pd.isna(value):
        return VERDICTS[3]
    if expect.near is not None:
        if abs(value - expect.near) <= expect.within:
            return VERDICTS[0]
        return (
            VERDICTS[1] if low <= expect.near + expect.within and high >= expect.near - expect.within else VERDICTS[2]
        )
    side = 1 if expect.above is not None else -1
    bound = expect.above if expect.above is not None else expect.below
    worst = low if side > 0 else high
    if side * (worst - bound) > 0:
        return VERDICTS[0]
    return VERDICTS[1] if side * (value - bound) > 0 else VERDICTS[2]


def score(claims: list[Claim], found: dict[str, dict]) -> pd.DataFrame:
    """One row a claim with our value and verdict.

    found: by claim id value, low, high and basis (what the value rests on, or why there is none).
    """
    if unknown := [name for name in found if name not in {claim.id for claim in claims}]:
        raise ValueError(f"values for a claim {unknown[0]!r} that paper/claims.yml does not have")
    rows = []
    for claim in claims:
        nothing = {
            "value": float("nan"),
            "low": float("nan"),
            "high": float("nan"),
            "basis": claim.why_not or "not run",
        }
        ours = nothing if claim.why_not else found.get(claim.id, nothing)
        row = claim.model_dump(include={"paper", "where", "statement", "measure", "reported"})
        verdict = decide(claim.expect, ours["value"], ours["low"], ours["high"])
        rows.append({"claim": claim.id} | row | ours | {"verdict": verdict})
    return pd.DataFrame(rows, columns=COLUMNS)


def scorecard(tables: Path) -> pd.DataFrame:
    """The verdicts that the notebooks of a profile have written, put together."""
    paths = sorted(tables.glob("*_claims.csv"))
    if not paths:
        raise FileNotFoundError(f"no claims at {tables}: run the profile first, `attreval run --profile NAME`")
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
