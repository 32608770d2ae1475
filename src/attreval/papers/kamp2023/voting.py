"""Agreement of any set of voters on any set of instances, by the profile's settings, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attreval.config import AgreementSpec
from attreval.core.bootstrap import bootstrap_mean
from attreval.core.seeds import generator
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima, select
from attreval.metrics.human_agreement import agreement_with_share, selection_with_share
from attreval.papers.kamp2023.readings import PEOPLE, Reading
from attreval.workflow.step import Step


def at_k(reading: Reading, names: Sequence[str], k: int, spec: AgreementSpec, draw: int | None = None) -> float:
    """agreement@k of voters on one instance. draw: break ties at random, with the seed of this draw."""
    if PEOPLE in names and spec.people == "share":
        (method,) = [name for name in names if name != PEOPLE]
        return agreement_with_share(reading.of(method), reading.of(PEOPLE), k)
    if draw is None and spec.ties == "random":
        draw = 0
    rng = None if draw is None else generator("ties", draw, reading.instance, k, *sorted(names))
    return agreement_at_k([reading.of(name) for name in names], k, rng)


def peaks_of(reading: Reading, name: str, spec: AgreementSpec) -> np.ndarray:
    """(n,) bool, the tokens that a voter's dynamic k selects."""
    scores = reading.of(name)
    return select(local_maxima(scores, PEAK_RULES[spec.peaks]), len(scores))


def at_peaks(reading: Reading, names: Sequence[str], spec: AgreementSpec) -> float:
    """Agreement of voters at their dynamic k on one instance; NaN where nobody has a peak."""
    if PEOPLE in names and spec.people == "share":
        (method,) = [name for name in names if name != PEOPLE]
        return selection_with_share(peaks_of(reading, method, spec), reading.of(PEOPLE))
    return agreement_of([peaks_of(reading, name, spec) for name in names])


def interval(step: Step, values: np.ndarray, run: tuple) -> tuple:
    """Means over instances, lower and upper bounds; instances are drawn alike in every table of a run."""
    settings = step.profile.bootstrap
    return bootstrap_mean(values, settings.draws, settings.level, "agreement", *run)
