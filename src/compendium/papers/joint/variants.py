"""Explained once more with one thing changed: the budget, the length of the texts, the model's
training, the baseline.

Growing budgets show from where on a sampled explanation is stable. Short texts show how far
comprehensiveness and sufficiency could have gone at all (Edin et al. 2025). Twins that have also
learned from masked texts (Madsen et al. 2024) answer the objection that an erased text is unlike
anything the model has read. Other baselines show what the start of integrated gradients moves.
Within a study, random draws are the same for whatever is compared. `variant_tables` says what each
change does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, get_args

import pandas as pd

from attreval.core.records import Instance
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.methods.method import Budget, PathBaseline
from attreval.metrics import STORED
from attreval.metrics.normalised_aopc import MEASURES, areas_in_limits
from attreval.metrics.rank_correlation import tau_b
from compendium import corpora
from compendium.config import Profile, Run
from compendium.papers.common import runs
from compendium.papers.common.trained_models import open_run
from compendium.papers.joint.values import OF_TOKENS, ask_metrics, score_text, stored_scores
from compendium.papers.zhao2023.erasure import (
    HARD_MEASURES,
    ErasureInput,
    ask_erasure,
    erasure_values,
)
from compendium.papers.zhao2023.settings import main_protocol, query_segment, rule_protocol
from compendium.project import Results
from compendium.workflow.step import Step

TOGETHER = 5  # texts that share batches
Part = tuple[int, int | None, int]  # which texts of a run: a slice
BUDGETS = ["task", "model", "method", "budget", "seed", "instance", "requested", "scores"]
LIMITS = [
    "task",
    "model",
    "instance",
    "exact",
    "method",
    "measure",
    "raw",
    "least",
    "greatest",
    "normalised",
]
TWINS = ["task", "model", "role", "instance", "erased", "method", "metric", "value"]
BASELINES = ["task", "model", "instance", "baseline", "metric", "value"]

PLAIN = "plain"
MASKED = "masked"
ROLES = (PLAIN, MASKED)
# among the metrics of twins: whether the class was found, in each of two readings of a text
ACCURACY = "accuracy"
READINGS = ("whole", "masked")
ERASED = {
    "padding": {},
    "mask": {"erased": "mask", "baseline": "content"},
}  # changes of the joint study's protocol
IN_PART = "in part"  # how soft erasure erases: no twin has read such vectors
SOFT = ("soft_nc_equal", "soft_ns_equal")

METHOD = "integrated_gradients"
STARTS = get_args(PathBaseline)
GAP = "gap"  # among the metrics of baselines: how far scores are from the sum they owe


@dataclass(frozen=True)
class Opened:
    """A run of which texts are explained once more, and the ledger of its model."""

    results: Results
    profile: Profile
    run: Run
    scorer: Any

    @property
    def budget(self) -> Budget:
        """What the profile says of explaining the task."""
        return self.profile.explaining_of(self.run[0])

    @property
    def by_token(self) -> Budget:
        """The same by single tokens, whatever the units of the profile."""
        return self.budget.changed(units=self.budget.units.changed(unit="subword"))

    def explain(self, texts: Sequence[Instance], methods: Iterable[str], *how):
        """The texts explained by those of the methods that apply to the model. how: what follows in
        `explain`.
        """
        from attreval.methods.run import explain

        applicable = [
            name for name in methods if self.scorer.model.family in METHODS[name].families
        ]
        return explain(self.scorer, texts, applicable, *how)


def _measure(
    step: Step, what: str, study: Callable, jobs: Iterable[tuple], columns: list[str]
) -> pd.DataFrame:
    """The rows that a study gives for each job, (run, what else it is called with), under task and
    model.
    """
    given = [(study, step.results, step.profile, *run, *more) for run, *more in jobs]
    found = step.side_by_side(_open_and_measure, given, what)
    return pd.DataFrame([row for rows in found for row in rows], columns=columns)


def _open_and_measure(
    study: Callable, results: Results, profile: Profile, task: str, model: str, seed: int, *more
):
    """The rows of one job."""
    run = (task, model, seed)
    opened = Opened(results, profile, run, open_run(results, profile, run))
    return [(task, model, *row) for row in study(opened, *more)]


def _parts(rows: int) -> list[Part]:
    """The first texts of a run, TOGETHER a part."""
    return [(start, min(start + TOGETHER, rows), 1) for start in range(0, rows, TOGETHER)]


def measure_budgets(step: Step) -> pd.DataFrame:
    """One row a budget, seed of the draws and text of the first run of each task, by each method
    that has a budget.
    """
    spec = step.profile.joint.budgets
    jobs = []
    for task, methods in spec.tasks.items():
        run = step.profile.first_explained(task)
        for method in methods if run else ():
            draws = spec.seeds if METHODS[method].stochastic else 1
            jobs += [(run, method, draw) for draw in range(draws)]
    return _measure(step, "budgets", _growing, jobs, BUDGETS)


def _growing(opened: Opened, method: str, draw: int) -> Iterator[tuple]:
    """One method at growing budgets, with one seed of its draws."""
    spec = opened.profile.joint.budgets
    task, model, _ = opened.run
    texts = runs.to_explain(opened.profile, task, model)[: spec.rows]
    names = ("budgets", *opened.run, draw + 1)
    for size in spec.sizes_of.get(task, spec.sizes):
        budget = METHODS[method].limited(opened.by_token, size).changed(limsse_draw=draw)
        for one in opened.explain(texts, [method], budget, names, budget.target):
            for record in one.attributions.values():
                scores = record.on_tokens(len(one.tokens))[one.tokens.content]
                yield method, size, draw + 1, one.instance.id, record.cost.requested, scores


def measure_limits(step: Step) -> pd.DataFrame:
    """One row a run, short text, method and measure: its area, the least and greatest of any order
    of the tokens.

    normalised: where the area lies between the two. exact: whether they are those of all orders.
    """
    profile = step.profile
    jobs = []
    for run in profile.first_runs(profile.joint.limits.tasks):
        rows = len(_short_texts(profile, run[0]))
        jobs += [(run, part) for part in _parts(rows)]
    return _measure(step, "limits", _between_limits, jobs, LIMITS)


def _short_texts(profile: Profile, task: str) -> list[Instance]:
    """The first test instances of a task that are short enough."""
    spec = profile.joint.limits
    short = [
        instance
        for instance in corpora.load_task(task, "test")
        if len(instance.words) <= spec.words
    ]
    return short[: spec.tasks[task]]


def _between_limits(opened: Opened, part: Part) -> Iterator[tuple]:
    """Areas of a few texts."""
    task = opened.run[0]
    texts = _short_texts(opened.profile, task)[slice(*part)]
    methods = opened.profile.joint.limits.methods
    explained = opened.explain(texts, methods, opened.by_token, ("limits", *opened.run))
    how = {"protocol": main_protocol(opened.profile, task), "query": query_segment(task)}
    talks = []
    for one in explained:
        scores = [record.scores for record in one.attributions.values()]
        rngs = [
            generator("ties", *opened.run, one.instance.id, method) for method in one.attributions
        ]
        talks.append(areas_in_limits(one.tokens, scores, rngs=rngs, **how))
    answers = opened.scorer.converse(("limits", talk) for talk in talks)
    for one, (limits, areas) in zip(explained, answers, strict=True):
        for method, of_method in zip(one.attributions, areas, strict=True):
            for measure, area in zip(MEASURES, of_method, strict=True):
                least, greatest = map(float, getattr(limits, measure))
                placed = limits.place(measure, area)
                yield (
                    one.instance.id,
                    limits.exact,
                    method,
                    measure,
                    float(area),
                    least,
                    greatest,
                    placed,
                )


def measure_twins(step: Step) -> pd.DataFrame:
    """One row a twin of joint.masked, text, way to erase, method and metric, and one a twin, text
    and reading.

    The latter has ACCURACY for a metric, the reading for a way to erase, and no method. Each twin
    is asked about the same texts, explained by the same methods for its own prediction.
    """
    jobs = []
    for run in step.profile.twin_runs():
        parts = -(-step.profile.joint.masked.twins[run[0]].rows // TOGETHER)
        jobs += [(run, (at, None, parts)) for at in range(parts)]
    return _measure(step, "twins", _of_twin, jobs, TWINS)


def _of_twin(opened: Opened, part: Part) -> Iterator[tuple]:
    """Accuracy and measures of erasure of one twin on a few texts."""
    task, model, _ = opened.run
    twins = opened.profile.joint.masked.twins[task]
    texts = corpora.load_task(task, "test", max(twins.rows, twins.tested))
    role = MASKED if model in twins.masked else PLAIN
    found = [*_read_twice(opened, texts[: twins.tested][slice(*part)])]
    found += _erased(opened, texts[: twins.rows][slice(*part)])
    yield from ((role, *row) for row in found)


def _read_twice(opened: Opened, texts: list[Instance]) -> Iterator[tuple]:
    """Whether the model finds the class of each text, whole and masked."""
    from attreval.models.training import evaluate, masked_copies

    model = opened.scorer.model
    copies = masked_copies(model, texts, "twins", opened.run[0])
    for reading, read in zip(READINGS, (texts, copies), strict=True):
        right = evaluate(model, read).correct if read else []
        for one, yes in zip(texts, right, strict=True):
            yield one.id, reading, "", ACCURACY, float(yes)


def _erased(opened: Opened, texts: list[Instance]) -> Iterator[tuple]:
    """The measures of erasure of the model's explanations, by each way to erase."""
    task, _, seed = opened.run
    query = query_segment(task)
    protocol = rule_protocol(opened.profile, task, "equal_means")
    protocols = {erased: replace(protocol, **changes) for erased, changes in ERASED.items()}
    cases = []
    methods = opened.profile.joint.masked.methods
    for one in opened.explain(texts, methods, opened.budget, ("twins", task, seed)):
        for (method, record), (erased, changed) in product(
            one.attributions.items(), protocols.items()
        ):
            names = ("twins", task, seed, one.instance.id, method)
            case = ErasureInput(
                erased, method, "own", record.scores, changed, names, soft=erased == "padding"
            )
            cases.append((one, case))
    talks = [(case.method, ask_erasure(one.tokens, case, query)) for one, case in cases]
    found = opened.scorer.converse(talks)
    for (one, case), (hard, soft) in zip(cases, found, strict=True):
        for stored in HARD_MEASURES:
            value = float(getattr(hard, stored).mean())
            yield one.instance.id, case.setting, case.method, STORED[stored].name, value
        if case.soft:
            for metric, value in zip(SOFT, erasure_values(hard, soft)[2:4], strict=True):
                yield one.instance.id, IN_PART, case.method, metric, value


def measure_baselines(step: Step) -> pd.DataFrame:
    """One row a text, baseline of integrated gradients and metric; the value may be NaN."""
    jobs = []
    for task, rows in step.profile.joint.path_baselines.items():
        if run := step.profile.first_explained(task):
            explained = step.profile.rows_explained(*run[:2])
            jobs += [(run, part) for part in _parts(min(rows, explained))]
    return _measure(step, "baselines", _from_each_start, jobs, BASELINES)


def _from_each_start(opened: Opened, part: Part) -> Iterator[tuple]:
    """What metrics say of a few texts that are explained from every baseline."""
    profile = opened.profile
    run = opened.run
    texts = runs.to_explain(profile, *run[:2])[slice(*part)]
    made = {}
    for start in STARTS:
        budget = opened.budget.changed(path_baseline=start)
        made[start] = opened.explain(texts, [METHOD], budget, run, budget.target)
    records = runs.load_records_once(opened.results, profile, *run)
    borrowed = runs.borrowed_evidence(run[0])
    others = [method for method in runs.common_methods(records) if not method.startswith(METHOD)]
    pure = [one for one in OF_TOKENS if "model" not in one.needs]
    asking = [one for one in OF_TOKENS if "model" in one.needs]
    for at, instance in enumerate(texts):
        by = {start: explained[at].attributions[METHOD] for start, explained in made.items()}
        tokens = made["pad"][at].tokens
        scores = {start: one.scores for start, one in by.items()}
        of_others = stored_scores(records[instance.id], others, tokens)
        marked = runs.with_evidence(instance, borrowed)
        text = score_text(profile, run, marked, tokens, scores, by["pad"].target)
        values = [(start, GAP, abs(one.gap)) for start, one in by.items()]
        for start, own in scores.items():
            values.append((start, "score_tau_b", float(tau_b(own, scores["pad"]))))
        for start, own in scores.items():
            alone = score_text(
                profile, run, text.instance, tokens, of_others | {METHOD: own}, text.target
            )
            (found,) = ask_metrics(opened.scorer, [], [alone], pure)
            values += [
                (start, metric, value) for method, metric, value in found if method == METHOD
            ]
        text = replace(text, draws=dict.fromkeys(scores, (*run, instance.id, METHOD)))
        (found,) = ask_metrics(opened.scorer, [text], [text], asking)
        yield from ((instance.id, *value) for value in [*values, *found] if value[0] != "random")
