"""Is erasure fair? Models, and their twins that have also learned from masked texts, before every measure of erasure.

The standing objection is that an erased text is unlike anything the model has read. A twin that is fine-tuned on
uniformly masked texts too (Madsen et al. 2024) has read such texts. All are asked about the same texts, each explained
by the same methods for its own prediction; two of a kind differ in their seeds, which tells masking from them. Hard
erasure puts the padding token, as everywhere here, or the mask token that twins have learned; soft erasure disturbs
vectors, as everywhere here, which no twin has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from attreval.methods import METHODS
from attreval.metrics import STORED
from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.trained_models import load_model_once
from compendium.papers.zhao2023.erasure import HARD_MEASURES, ErasureInput, ask_erasure, erasure_values
from compendium.papers.zhao2023.settings import query_segment, rule_protocol
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

TOGETHER = 5  # explained texts that share batches
ROLES = ("plain", "masked")
READINGS = ("whole", "masked")  # of the texts on which accuracy is taken
ERASED = {"padding": {}, "mask": {"erased": "mask", "baseline": "content"}}  # changes of the joint study's protocol
SOFT = ("soft_nc_equal", "soft_ns_equal")
IN_PART = "in part"  # how soft erasure erases
COLUMNS = ["task", "role", "model", "instance", "erased", "method", "metric", "value"]
TESTED = ["task", "role", "model", "reading", "instance", "correct"]


@dataclass(frozen=True)
class Twins:
    """values: one row a task, model, text, way to erase, method and metric; tested: one row a task, model, reading and
    text, whether its class was found. role: of ROLES."""

    values: pd.DataFrame
    tested: pd.DataFrame


def measure_twins(step: Step) -> Twins:
    """What all twins of joint.masked give; empty where the profile has none."""
    jobs = []
    for run in step.profile.twin_runs():
        parts = -(-step.profile.joint.masked.twins[run[0]].rows // TOGETHER)
        jobs += [(step.results, step.profile, *run, part, parts) for part in range(parts)]
    found = step.side_by_side(_measure_part, jobs, "twins")
    values, tested = ([row for part in found for row in part[at]] for at in (0, 1))
    return Twins(pd.DataFrame(values, columns=COLUMNS), pd.DataFrame(tested, columns=TESTED))


def _measure_part(
    results: Results, profile: Profile, task: str, model: str, seed: int, part: int, parts: int
) -> tuple[list[tuple], list[tuple]]:
    """The rows of Twins of every text number `part` of `parts`."""
    from attreval.methods.run import explain
    from attreval.models.scorer import Scorer
    from attreval.models.training import evaluate, masked_copies

    set_threads(profile.threads)
    loaded, twins = load_model_once(results, profile, task, model, seed), profile.joint.masked.twins[task]
    texts, budget = corpora.load(task, "test", max(twins.rows, twins.tested)), profile.explaining_of(task)
    about = (task, ROLES[model in twins.masked], model)
    some, tested = texts[: twins.tested][part::parts], []
    for reading, read in zip(READINGS, (some, masked_copies(loaded, some, "twins", task)), strict=True):
        right = evaluate(loaded, read).correct if read else []
        tested += [(*about, reading, one.id, float(yes)) for one, yes in zip(some, right, strict=True)]
    scorer = Scorer(loaded, budget.token_budget)
    methods = [name for name in profile.joint.masked.methods if loaded.family in METHODS[name].families]
    explained = explain(scorer, texts[: twins.rows][part::parts], methods, budget, ("twins", task, seed))
    query = query_segment(task)
    cases = [case for one in explained for case in _list_cases(profile, task, seed, one)]
    found = scorer.converse((case.method, ask_erasure(tokens, case, query)) for _, tokens, case in cases)
    values = []
    for (instance, _, case), answer in zip(cases, found, strict=True):
        values += [(*about, instance, erased, case.method, *value) for erased, *value in _values(case, *answer)]
    return values, tested


def _list_cases(profile: Profile, task: str, seed: int, one) -> Iterator[tuple]:
    """(instance, tokens, ErasureInput) of a text for each method and token put; the draws are the same for twins."""
    protocol = rule_protocol(profile, task, "equal_means")
    for method, record in one.attributions.items():
        names = ("twins", task, seed, one.instance.id, method)
        for erased, changes in ERASED.items():
            changed, soft = replace(protocol, **changes), erased == "padding"
            case = ErasureInput(erased, method, "own", record.scores, changed, names, soft=soft)
            yield one.instance.id, one.tokens, case


def _values(case: ErasureInput, hard, softened) -> Iterator[tuple[str, str, float]]:
    """(way to erase, metric, value) of an answer."""
    for stored in HARD_MEASURES:
        yield case.setting, STORED[stored].name, float(getattr(hard, stored).mean())
    if case.soft:
        yield from ((IN_PART, *pair) for pair in zip(SOFT, erasure_values(hard, softened)[2:4], strict=True))
