"""Contradicted conclusions of Kamp et al. (2023), one run or fixed k at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from attreval.config import Run
from attreval.papers.common.claims import Claim, read_claims
from attreval.papers.common.style import model_title, task_title
from attreval.papers.common.turned import LEAST_NULLS, Turn, quick_draws, turned_table
from attreval.papers.common.verdicts import CONTRADICTED, Finding
from attreval.papers.kamp2023.claims import findings_of, values_and_worlds
from attreval.papers.kamp2023.readings import SIX, read_runs, voters
from attreval.workflow.step import Step

FIXED = (2, 3, 4, 5, 6)  # tokens, beside the 4 of the paper


def turned_claims(step: Step, measured: Mapping[Run, dict[str, Finding]], judged: pd.DataFrame) -> pd.DataFrame:
    """One row a contradicted claim and thing turned, as `turned_table`.

    measured: of `claims.statistics_by_run`; judged: of `claims.claims_table`.
    """
    contradicted = {row.claim: row.basis for row in judged[judged.verdict == CONTRADICTED].itertuples()}
    other_ks = by_fixed_k(step, measured, set(contradicted.values())) if contradicted else {}

    def turn(claim: Claim) -> Iterator[Turn]:
        for (task, model, seed), found in measured.items():
            if claim.id in found and found[claim.id].basis != contradicted[claim.id]:
                run = f"{task_title(task)}, {model_title(model)}, seed {seed}"
                yield Turn("corpus", run, found[claim.id])
        for k, found in other_ks.get(contradicted[claim.id], {}).items():
            if claim.id in found:
                yield Turn("protocol", f"{k} tokens as the fixed k", found[claim.id])

    return turned_table(read_claims("kamp2023"), judged, turn, step.profile.bootstrap.confidence)


def by_fixed_k(
    step: Step, measured: Mapping[Run, dict[str, Finding]], wanted: set[str]
) -> dict[str, dict[int, dict[str, Finding]]]:
    """By what a claim rests on, and fixed k: the findings of that run. wanted: which."""
    spec, settings, out = step.profile.agreement, quick_draws(step.profile.bootstrap), {}
    for run, readings in read_runs(step):
        basis = next((finding.basis for finding in measured.get(run, {}).values()), "")
        if basis not in wanted or len(voters(readings)) < len(SIX):
            continue
        values, null = values_and_worlds(readings, spec, LEAST_NULLS)
        ks = [k for k in FIXED if k != spec.fixed_k and k <= spec.largest_k]
        out[basis] = {k: findings_of(values, null, spec.changed(fixed_k=k), settings, run) for k in ks}
    return out
