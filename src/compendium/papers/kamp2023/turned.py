"""Contradicted conclusions of Kamp et al. (2023), one run, fixed k, rule of peaks or sign of scores at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from compendium.config import Run
from compendium.papers.common.claims import Claim, read_claims
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.turned import LEAST_NULLS, Turn, quick_draws, turned_table
from compendium.papers.common.verdicts import CONTRADICTED, Finding
from compendium.papers.kamp2023.claims import findings_of, values_and_worlds
from compendium.papers.kamp2023.readings import SIX, Reading, read_runs, unsigned, voters
from compendium.workflow.step import Step

FIXED = (2, 3, 4, 5, 6)  # tokens, beside the 4 of the paper
PEAKS = {"released": "by the rule of the released code", "paper": "by the rule of the paper"}
Protocols = dict[str, dict[str, Finding]]  # by what is said of a protocol, and claim


def turned_claims(step: Step, measured: Mapping[Run, dict[str, Finding]], judged: pd.DataFrame) -> pd.DataFrame:
    """One row a contradicted claim and thing turned, as `turned_table`.

    measured: of `claims.statistics_by_run`; judged: of `claims.claims_table`.
    """
    contradicted = {row.claim: row.basis for row in judged[judged.verdict == CONTRADICTED].itertuples()}
    otherwise = by_protocol(step, measured, set(contradicted.values())) if contradicted else {}

    def turn(claim: Claim) -> Iterator[Turn]:
        for (task, model, seed), found in measured.items():
            if claim.id in found and found[claim.id].basis != contradicted[claim.id]:
                run = f"{task_title(task)}, {model_title(model)}, seed {seed}"
                yield Turn("corpus", run, found[claim.id])
        for how, found in otherwise.get(contradicted[claim.id], {}).items():
            if claim.id in found:
                yield Turn("protocol", how, found[claim.id])

    return turned_table(read_claims("kamp2023"), judged, turn, step.profile.bootstrap.confidence)


def by_protocol(step: Step, measured: Mapping[Run, dict[str, Finding]], wanted: set[str]) -> dict[str, Protocols]:
    """By what a claim rests on: the findings of that run under other protocols. wanted: which."""
    out = {}
    for run, readings in read_runs(step):
        basis = next((finding.basis for finding in measured.get(run, {}).values()), "")
        if basis in wanted and len(voters(readings)) == len(SIX):
            out[basis] = of_run(step, run, readings)
    return out


def of_run(step: Step, run: Run, readings: Sequence[Reading]) -> Protocols:
    """The findings of a run at other fixed k, by the other rule of peaks, and on scores without their signs."""
    spec, settings = step.profile.agreement, quick_draws(step.profile.bootstrap)
    other_ks = {f"{k} tokens as the fixed k": k for k in FIXED if k != spec.fixed_k and k <= spec.largest_k}
    other_peaks = {f"dynamic k {title}": rule for rule, title in PEAKS.items() if rule != spec.peaks}

    def find(readings: Sequence[Reading], rule: str, ks: Mapping[str, int]) -> Protocols:
        one = spec.changed(peaks=rule)
        values, null = values_and_worlds(readings, one, LEAST_NULLS)
        return {how: findings_of(values, null, one.changed(fixed_k=k), settings, run) for how, k in ks.items()}

    out = find(readings, spec.peaks, other_ks)
    for how, rule in other_peaks.items():
        out |= find(readings, rule, {how: spec.fixed_k})
    return out | find([unsigned(one) for one in readings], spec.peaks, {"scores without their signs": spec.fixed_k})
