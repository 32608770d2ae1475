"""How far do the small choices move the results: ties, the sign of scores, and the rule of dynamic k?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from attreval.explain import METHODS
from attreval.metrics.dynamic_k import PEAK_RULES
from attreval.papers.kamp2023.readings import PEOPLE, UNSIGNED, Reading, read_run, voters


def marked_of(readings: list[Reading]) -> list[Reading]:
    """Those that people have marked."""
    return [r for r in readings if r.marked]


def tie_table(step) -> pd.DataFrame:
    """One row a run and pair of voters at the fixed k: by expectation, and by random tie-breaks as the released code.

    draws_sd: of the data set's mean over draws. farthest: the largest distance of a draw from the expectation.
    """
    expected = step.profile.agreement.model_copy(update={"ties": "expectation", "people": "top_k"})
    rows = []
    for run in step.profile.explained_runs("agreement"):
        readings = read_run(step, run)
        for a, b in combinations([*voters(readings), *([PEOPLE] if marked_of(readings) else [])], 2):
            used = marked_of(readings) if b == PEOPLE else readings
            exact = np.mean([r.agreement_at_k((a, b), expected.fixed_k, expected) for r in used])
            draws = [
                np.mean([r.agreement_at_k((a, b), expected.fixed_k, expected, draw) for r in used])
                for draw in range(expected.tie_draws)
            ]
            rows.append((*run, a, b, exact, np.mean(draws), np.std(draws), np.abs(draws - exact).max(), len(used)))
    columns = ["task", "model", "seed", "a", "b", "expected", "drawn", "draws_sd", "farthest", "instances"]
    return pd.DataFrame(rows, columns=columns)


def sign_table(step) -> pd.DataFrame:
    """One row a run, signed method and sign: agreement with the other methods and with people, signed or by size.

    The others vote as they are. The paper ranks by signed scores everywhere; `unsigned` ranks by their sizes.
    """
    spec, rows = step.profile.agreement, []
    for run in step.profile.explained_runs("agreement"):
        readings = read_run(step, run)
        names, marked = voters(readings), marked_of(readings)
        for method in names:
            if not METHODS[method].signed:
                continue
            others = [name for name in names if name != method]
            for sign, voter in (("signed", method), ("unsigned", f"{method}{UNSIGNED}")):
                pairs = [(voter, other) for other in others]
                found = [
                    np.mean([r.agreement_at_k(pair, spec.fixed_k, spec) for r in readings for pair in pairs]),
                    np.nanmean([r.agreement_at_peaks(pair, spec) for r in readings for pair in pairs]),
                    np.mean([r.agreement_at_k((voter, PEOPLE), spec.fixed_k, spec) for r in marked])
                    if marked
                    else np.nan,
                    np.nanmean([r.agreement_at_peaks((voter, PEOPLE), spec) for r in marked]) if marked else np.nan,
                    np.mean([r.peaks(voter, spec).sum() for r in readings]),
                ]
                rows.append((*run, method, sign, *found, len(readings)))
    columns = ["task", "model", "seed", "method", "sign", "fixed", "dynamic", "people_fixed", "people_dynamic", "k"]
    return pd.DataFrame(rows, columns=[*columns, "instances"])


def rule_table(step) -> pd.DataFrame:
    """One row a run, rule of dynamic k and voter: mean k, share without a peak, agreement with the others."""
    rows = []
    for run in step.profile.explained_runs("agreement"):
        readings = read_run(step, run)
        names = voters(readings)
        for rule in PEAK_RULES:
            spec = step.profile.agreement.model_copy(update={"peaks": rule})
            for voter in names:
                counts = np.array([r.peaks(voter, spec).sum() for r in readings])
                pairs = [(voter, other) for other in names if other != voter]
                agreed = np.array([r.agreement_at_peaks(pair, spec) for r in readings for pair in pairs])
                mean = np.nanmean(agreed) if np.isfinite(agreed).any() else np.nan
                rows.append((*run, rule, voter, counts.mean(), (counts == 0).mean(), mean, len(readings)))
    columns = ["task", "model", "seed", "rule", "voter", "k", "without", "agreement", "instances"]
    return pd.DataFrame(rows, columns=columns)


def note_choices(step, ties: pd.DataFrame, signs: pd.DataFrame, rules: pd.DataFrame) -> None:
    """Keep the largest effect of each choice."""
    step.number("choices.ties_farthest", float(ties.farthest.max()), 3)
    step.number("choices.ties_draws", step.profile.agreement.tie_draws)
    for task, part in signs.groupby("task", sort=False):
        means = part.groupby("sign")[["fixed", "dynamic"]].mean()
        for sign in ("signed", "unsigned"):
            step.number(f"choices.{task}.{sign}_fixed", float(means.fixed[sign]), 2)
            step.number(f"choices.{task}.{sign}_dynamic", float(means.dynamic[sign]), 2)
    for task, part in rules.groupby("task", sort=False):
        for rule, inside in part.groupby("rule", sort=False):
            step.number(f"choices.{task}.{rule}_agreement", float(inside.agreement.mean()), 2)
            step.number(f"choices.{task}.{rule}_k", float(inside.k.mean()), 1)
            step.number(f"choices.{task}.{rule}_without", float(inside.without.mean()), percent=True)
