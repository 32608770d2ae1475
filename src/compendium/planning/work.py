"""What each step of a profile asks its models: the steps of the workflow, each counted on a few of its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from attreval.core.records import Instance
from attreval.core.seeds import generator
from attreval.core.units import find_units
from attreval.methods import METHODS
from attreval.methods.run import explain
from attreval.methods.techniques import TECHNIQUES
from attreval.models.placing import pick_precision
from compendium.config import Profile
from compendium.papers.common.choices import FEW, other_choices, tried_run
from compendium.papers.joint.values import ERASURE, ask_model, explains_predicted, score_text
from compendium.papers.pipeline.explaining import CHECKED
from compendium.papers.pipeline.shortening import shortened
from compendium.papers.sun2024.explanations import HEAD_CHOICES, budget_of_types
from compendium.papers.sun2024.oracle import ask_all
from compendium.papers.sun2024.properties import masked_sets, rank_instance
from compendium.papers.zhao2023.erasure import ask_erasure, list_inputs
from compendium.papers.zhao2023.settings import list_settings, query_segment
from compendium.planning.counting import (
    CountingLedger,
    fixed,
)
from compendium.planning.planner import SAMPLE, Planner, Work, make_scores
from compendium.planning.texts import texts_of

# processor seconds a text and method of what asks no model, from a run of `quick`
POINTING, AGREEMENT, JOINT = 0.0018, 0.02, 0.003
PLANTED = 0.9  # a text of the planted worlds
INFORMED = 1.8  # tokens of a text that an agent is shown with an explanation, over those of the text
AGENT = 3.0  # processor seconds in which an agent's first weights are opened and its best are kept


def list_work(profile: Profile, read: Callable | None = None, sample: int = SAMPLE) -> Iterator[Work]:
    """The work of every step of a profile, those of one notebook, task and model together, in the workflow's order."""
    planner = Planner(profile, read, sample)
    yield Work("01_data", steps=1)
    for trained in _by_model(profile.trained_runs()):
        yield _train(planner, *trained)
    for explained in _by_model(profile.explained_runs()):
        yield _explain(planner, *explained)
    yield Work("03_overview")
    if runs := profile.explained_runs("pointing"):
        yield Work("04_poerner2018", own=POINTING * _scores(profile, runs))
    if runs := profile.explained_runs("agreement"):
        yield Work("05_kamp2023", own=AGREEMENT * _scores(profile, runs))
    if profile.seed_study:
        yield _study_seeds(planner)
    if profile.explained_runs("faithfulness"):
        yield Work("06_zhao2023")
    for judged in _by_model(profile.explained_runs("faithfulness")):
        yield _erase(planner, *judged)
    if profile.explained_runs("diagnosis"):
        yield Work("07_sun2024")
    for diagnosed in _by_model(profile.explained_runs("diagnosis")):
        yield from _diagnose(planner, *diagnosed)
    yield Work("08_joint")
    yield from _joint(planner)
    yield Work("09_planted", own=PLANTED * profile.meta.instances)


def _by_model(runs) -> Iterator[tuple[str, str, int]]:
    """(task, model, number of seeds)."""
    for (task, model), some in groupby(runs, key=lambda run: run[:2]):
        yield task, model, len(list(some))


def _scores(profile: Profile, runs) -> int:
    """Texts times methods of some explained runs."""
    return sum(profile.rows_explained(t, m) * len(profile.explaining_of(t).methods) for t, m, _ in runs)


def _train(planner: Planner, task: str, model: str, seeds: int) -> Work:
    profile = planner.profile
    spec = profile.task_of(task, model)
    also = [
        short
        for other, more in spec.also_train.items()
        for one in texts_of(other, "train", more.rows)
        for short in shortened(one, more)
    ]
    train = texts_of(task, "train", spec.train_rows) + also if spec.train_rows else []
    sets = (train, texts_of(task, "dev", spec.dev_rows), texts_of(task, "test", spec.test_rows))
    one = planner.training(task, model, sets, profile.training_of(task, model))
    return Work("02_train", task, model, seeds, one.texts).add(one, seeds)


def _explain(planner: Planner, task: str, model: str, seeds: int) -> Work:
    profile = planner.profile
    spec, texts = profile.explaining_of(task), texts_of(task, "test", profile.rows_explained(task, model))
    precision = spec.perturbation_precision
    one = planner.explaining(task, model, texts, spec.methods, spec, precision)
    if named := profile.tasks[task].examples:
        one.add(planner.explaining(task, model, texts[: len(named)], spec.methods, spec, precision))
    if pick_precision(precision, planner.device) != "float32":
        sampled = [m for m in spec.methods if METHODS[m].sampled]
        for which in (precision, "float32"):  # the faster precision is compared with the exact one
            one.add(planner.explaining(task, model, texts[:CHECKED], sampled, spec, which), spec.shards)
    out = Work("03_explain", task, model, seeds * spec.shards, len(texts)).add(one, seeds)
    tried = tried_run(profile)
    for choice in other_choices(spec) if tried and tried[:2] == (task, model) else ():
        chosen = [m for m in choice.methods if m in spec.methods]
        out.add(planner.explaining(task, model, texts[:FEW], chosen, choice.budget, precision))
    return out


def _study_seeds(planner: Planner) -> Work:
    profile, study = planner.profile, planner.profile.seed_study
    splits = (("train", study.train_rows), ("dev", study.dev_rows), ("test", study.test_rows))
    sets = [texts_of(study.task, split, rows) for split, rows in splits]
    one, spec = planner.training(study.task, study.model, sets, profile.study_training()), profile.study_explaining()
    texts = sets[2][: study.explain_rows]
    one.add(planner.explaining(study.task, study.model, texts, spec.methods, spec, spec.perturbation_precision))
    return Work("05_kamp2023_seeds", study.task, study.model, 1, one.texts).add(one, len(study.seeds))


def _erase(planner: Planner, task: str, model: str, seeds: int) -> Work:
    """Texts that are erased in the same settings are counted together."""
    profile, query = planner.profile, query_segment(task)
    texts = texts_of(task, "test", profile.rows_explained(task, model))
    family = planner.unbuilt(task, model).family
    methods = [m for m in profile.explaining_of(task).methods if family in METHODS[m].families]
    methods = list(dict.fromkeys(["random", *methods]))
    out = Work("06_zhao2023", task, model, 0, len(texts))
    by_settings = groupby(range(len(texts)), key=lambda at: tuple(list_settings(profile, task, at)))
    for _, places in by_settings:
        first, *_ = part = list(places)

        def erase(ledger, text, _, first=first):
            tokens, names = ledger.model.tokens(text), (task, model, 1, text.id)
            known = make_scores(methods, len(tokens.content), *names)
            inputs = list_inputs(ledger, profile, task, first, tokens, known, 0, names)
            ledger.converse((one.method, ask_erasure(tokens, one, query)) for one in inputs)

        out.add(planner.count(task, model, [texts[at] for at in part], erase, "float32"), seeds)
    return out


def _diagnose(planner: Planner, task: str, model: str, seeds: int) -> Iterator[Work]:
    """Explanations of units, pairs and spans; agents; properties."""
    profile = planner.profile
    settings, budget = profile.diagnosis, fixed(budget_of_types(profile, task))
    agents, precision = settings.agents, budget.perturbation_precision
    texts = texts_of(task, "test", max(settings.rows, agents.rows))
    out = Work("07_sun2024_explanations", task, model, seeds * settings.parts, len(texts))
    of = {
        t: [m for name in t for m in TECHNIQUES[name].values()]
        for t in (tuple(settings.techniques), tuple(agents.techniques))
    }
    for some, techniques in (
        (texts[: settings.rows], tuple(settings.techniques)),
        (texts[settings.rows : agents.rows], tuple(agents.techniques)),
    ):
        out.add(planner.explaining(task, model, some, of[techniques], budget, precision), seeds)

        def attend(ledger, text, _):
            tokens = ledger.model.tokens(text)
            changed = [budget.changed(units=budget.units.changed(head_choice=choice)) for choice in HEAD_CHOICES]
            ledger.converse(
                ("heads", METHODS[m].converse(tokens, 0, own, generator("plan")))
                for own in changed
                for m in TECHNIQUES["attention"].values()
            )

        if "attention" in techniques:
            out.add(planner.count(task, model, some, attend), seeds)

    def ask_every(ledger, text, _):
        tokens = ledger.model.tokens(text)
        ledger.converse([("oracle", ask_all(tokens, 0, find_units(tokens, settings.units.unit)))])

    short = [text for text in texts_of(task, "test", 4000) if len(text.words) <= settings.oracle.units]
    out.add(planner.count(task, model, short[: settings.oracle.rows], ask_every, "float32"), seeds)
    yield out
    yield _train_agents(planner, task, model, seeds, texts[: agents.rows])

    run, explained = (task, model, 1), {}
    some = texts[: settings.rows]
    for text in [some[at] for at in planner.choose(some)]:
        ledger = CountingLedger(planner.unbuilt(task, model))
        explained[text.id] = explain(ledger, [text], of[tuple(settings.techniques)], budget, ("plan",))[0].attributions

    def mask(ledger, text, _):
        ranked = rank_instance(text, explained[text.id], ledger.model, settings, run, {})
        ledger.converse((job.account, job.ask()) for job in masked_sets(ranked, settings, explained[text.id], run))

    own = planner.count(task, model, some, mask, "float32")
    yield Work("07_sun2024", task, model, 0, own.texts).add(own, seeds)


def _train_agents(planner: Planner, task: str, model: str, seeds: int, texts: Sequence[Instance]) -> Work:
    """One training a condition and seed of the agents; what they are shown makes texts longer."""
    profile, agents = planner.profile, planner.profile.diagnosis.agents
    own = profile.training_of(profile.read_by(task), model)
    spec = own.changed(**agents.training)
    first, second = np.cumsum([round(share * len(texts)) for share in agents.split[:2]])
    one = planner.training(task, model, (texts[:first], texts[first:second], texts[second:]), spec)
    conditions = len(agents.techniques) * len(agents.types) * len(agents.forms)
    times = seeds * len(agents.seeds) if agents.rows else 0
    out = Work("07_sun2024_agents", task, model, seeds, int(first), own=AGENT * times * (1 + conditions))
    return out.add(one, times * (1 + INFORMED * conditions))


def _joint(planner: Planner) -> Iterator[Work]:
    """What no earlier step has asked, and sampled methods at growing budgets."""
    profile = planner.profile
    for task, model, seeds in _by_model(profile.explained_runs()):
        rows, spec = profile.rows_explained(task, model), profile.joint
        family = planner.unbuilt(task, model).family
        methods = [m for m in profile.explaining_of(task).methods if family in METHODS[m].families]
        methods = list(dict.fromkeys(["random", *methods]))
        judged = (task, model) in {run[:2] for run in profile.explained_runs("faithfulness")}
        soft = profile.faithfulness_of(task).methods
        known = {(metric, m): 0.0 for m in methods for metric in (ERASURE if m in soft else ERASURE[:2])}
        known = known if judged and explains_predicted(profile, task) else {}

        def ask(ledger, text, _, of=(task, model, methods, known)):
            task, model, methods, known = of
            tokens, run = ledger.model.tokens(text), (task, model, 1)
            scores = make_scores(methods, len(tokens.content), *run, text.id)
            ask_model(ledger, [score_text(profile, run, text, tokens, scores, None, known)])

        out = Work("08_joint", task, model, 0, spec.rows_of(task, rows))
        out.own = seeds * JOINT * out.texts * len(methods)
        out.add(planner.count(task, model, texts_of(task, "test", spec.asked_of(task, rows)), ask, "float32"), seeds)
        if profile.first_explained(task)[1] == model:
            _add_budgets(planner, out, [m for m in spec.budgets.tasks.get(task, ()) if family in METHODS[m].families])
        if out.texts:
            yield out


def _add_budgets(planner: Planner, out: Work, methods: Sequence[str]) -> None:
    """Add methods at every budget of the study of budgets, of one run."""
    spec, explaining = planner.profile.joint.budgets, planner.profile.explaining_of(out.task)
    rows = min(spec.rows, planner.profile.rows_explained(out.task, out.model))
    for method in methods:
        for size in spec.sizes_of.get(out.task, spec.sizes):
            budget = METHODS[method].limited(explaining, size)
            one = planner.explaining(out.task, out.model, texts_of(out.task, "test", rows), [method], budget, "float32")
            out.add(one, spec.seeds if METHODS[method].stochastic else 1)
