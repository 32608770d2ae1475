"""Claims of Poerner et al. (2018), section 5: which hold here? Each compares methods by their hits."""

from __future__ import annotations

import pandas as pd

from attreval.papers.common.claims import Claim, read_claims, score
from attreval.papers.poerner2018.contrasts import MethodContrast, contrast_methods
from attreval.workflow.step import Step


def pointing_claims(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """One row a claim of Poerner et al. 2018 with our value, its interval and a verdict."""
    claims = read_claims("poerner2018")
    found = {claim.id: claim_value(claim, hits, step) for claim in claims if claim.contrast and not claim.why_not}
    return score(claims, found)


def claim_value(claim: Claim, hits: pd.DataFrame, step: Step) -> dict:
    """Our value of a claim that is a contrast of methods."""
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in claim.contrast.items()}
    found = contrast_methods(
        hits, MethodContrast(**settings), step.profile.bootstrap.draws, step.profile.bootstrap.confidence
    )
    if found is None:
        nan = float("nan")
        return {"value": nan, "low": nan, "high": nan, "basis": "no task, model or method of this profile tests it"}
    basis = f"positive in {found.positive} of {found.cells} columns"
    return {"value": found.value, "low": found.low, "high": found.high, "basis": basis}
