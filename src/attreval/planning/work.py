"""What each step of a profile asks its models: the steps of the workflow, each counted on a few of its texts.

A text is put through the very conversations of the step, before a ledger that only counts (see counting); a few texts
of middling lengths stand for all. Trainings are counted by rows, epochs and checks, without early stopping.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby

import numpy as np

from attreval.config import Profile
from attreval.core.records import Instance
from attreval.core.seeds import generator
from attreval.core.units import find_units
from attreval.corpora import TASKS
from attreval.methods import METHODS, methods_for
from attreval.methods.applicable import LEAST
from attreval.methods.run import explain
from attreval.methods.techniques import TECHNIQUES
from attreval.models.transformer import pick_device, pick_precision
from attreval.papers.common.choices import FEW, other_choices, tried_run
from attreval.papers.joint.values import ERASURE, cases_to_ask, explains_predicted
from attreval.papers.pipeline.explaining import CHECKED
from attreval.papers.sun2024.explanations import HEAD_CHOICES, budget_of_types
from attreval.papers.sun2024.oracle import ask_all
from attreval.papers.sun2024.properties import masked_sets, rank_instance
from attreval.papers.zhao2023.erasure import ask_erasure, list_inputs
from attreval.papers.zhao2023.settings import list_settings, query_segment
from attreval.planning.counting import (
    CountingLedger,
    Passes,
    UnbuiltModel,
    bucket,
    fixed,
    quantiles,
    scaled,
    split_words,
)
from attreval.planning.texts import texts_of
from attreval.planning.unit_costs import shape_of

SAMPLE = 3  # texts that stand for all of a step; those that are explained stand in a group, for their padding
GROUP, GROUP_WORDS = 8, 500  # texts of a group, and their words together, at most: long texts are as good as alone
FAMILIES = {"gru": "recurrent", "lstm": "recurrent", "qgru": "quasi", "qlstm": "quasi", "cnn": "convolutional"}
# processor seconds a text and method of what asks no model, from a run of `quick`
POINTING, AGREEMENT, JOINT = 0.0018, 0.02, 0.003
PLANTED = 0.9  # a text of the planted worlds
INFORMED = 1.8  # tokens of a text that an agent is shown with an explanation, over those of the text
AGENT = 3.0  # processor seconds in which an agent's first weights are opened and its best are kept
ALIKE = 1.0  # how much what all methods' scores have in common weighs against what is a method's own


@dataclass
class Work:
    """What the steps of one notebook for one task and model need; all of them together.

    steps: runs of the notebook, 0 where this is a part of one that judges several models. texts: that are trained on
    or explained. passes: see counting. training: (precision, tokens of a row, rows of a batch) -> tokens trained on.
    own: processor seconds besides the model's.
    """

    notebook: str
    task: str = ""
    model: str = ""
    steps: int = 1
    texts: int = 0
    evaluations: float = 0
    gradients: float = 0
    tokens: float = 0
    passes: Passes = field(default_factory=Counter)
    training: Counter = field(default_factory=Counter)
    own: float = 0.0

    def add(self, other: Work, times: float = 1) -> Work:
        """Take in so many times as much of another."""
        for name in ("evaluations", "gradients", "tokens", "own"):
            setattr(self, name, getattr(self, name) + times * getattr(other, name))
        self.passes.update(scaled(other.passes, times))
        self.training.update(scaled(other.training, times))
        return self


class Planner:
    """Counts the work of a profile. read: (task, model) -> how that model reads an instance; words by default."""

    def __init__(self, profile: Profile, read: Callable | None = None, sample: int = SAMPLE):
        # a path that may grow is given a number of nodes wherever it is asked for
        self.profile = profile.changed(explain=fixed(profile.explain))
        self.read, self.sample = read or self._read_words, sample
        self.device = pick_device(profile.device)

    def _read_words(self, task: str, model: str) -> Callable:
        spec = self.profile.models[model]
        return split_words(spec.max_length, spec.architecture not in FAMILIES)

    def unbuilt(self, task: str, model: str) -> UnbuiltModel:
        """A model as methods know it."""
        spec, labels = self.profile.models[model], TASKS[task].labels
        family = FAMILIES.get(spec.architecture, "transformer")
        found = UnbuiltModel(model, family, labels, spec.max_length, self.read(task, model))
        if family == "transformer":
            layers, _, found.heads = shape_of(spec)
            found.layers = layers if spec.architecture == "transformer" else spec.layers
        elif family == "convolutional" or self.device.type == "cpu":
            found.reuse_from = 32
        return found

    def choose(self, texts: Sequence) -> list[int]:
        """The numbers of the texts that stand for all; a group of texts stands for itself."""
        lengths = [len(text.words) if isinstance(text, Instance) else 1 for text in texts]
        return quantiles(lengths, self.sample) if len(set(lengths)) > 1 else [0]

    def count(self, task: str, model: str, texts: Sequence, work: Callable, precision: str = "auto") -> Work:
        """The work for all texts from that for a few: work(ledger, text, number). precision: of sampled questions."""
        out = Work("", task, model, texts=len(texts))
        if not len(texts):
            return out
        _warm_up()
        chosen = self.choose(texts)
        ledger = CountingLedger(self.unbuilt(task, model), pick_precision(precision, self.device))
        start = time.process_time()
        for at in chosen:
            work(ledger, texts[at], at)
            ledger.forget()
        out.own = time.process_time() - start
        out.evaluations, out.gradients, out.tokens = ledger.evaluations, ledger.gradients, ledger.tokens
        out.passes = ledger.passes
        times = len(texts) / len(chosen)
        return Work("", task, model, texts=len(texts)).add(out, times)

    def training(self, task: str, model: str, sets: Sequence[Sequence[Instance]], spec) -> Work:
        """The work of training on the first set, checking on the second, testing on the third."""
        precision, read = pick_precision(spec.precision, self.device), self.read(task, model)
        most = spec.tokens or self.profile.models[model].max_length
        train, dev, test = sets
        out = Work("", task, model, texts=len(train))
        if train:
            sample = [train[i] for i in quantiles([len(text.words) for text in train], 5 * self.sample)]
            length = float(np.mean([min(most, len(read(text))) for text in sample]))
            out.training[precision, bucket(round(length)), spec.batch_rows] = length * len(train) * spec.epochs
            out.evaluations = out.gradients = len(train) * spec.epochs
            out.tokens = length * len(train) * spec.epochs

        def check(ledger, text, at):
            tokens = ledger.model.tokens(text)
            ledger.logits([(tokens.ids[:most], tokens.segments[:most])], precision)

        def answer(ledger, text, at):
            tokens = ledger.model.tokens(text)
            ledger.logits([(tokens.ids, tokens.segments)], precision)

        out.add(self.count(task, model, dev, check), spec.epochs * spec.evaluations_per_epoch if train else 0)
        return out.add(self.count(task, model, test, answer))

    def explaining(self, task: str, model: str, texts: Sequence[Instance], methods, budget, precision: str) -> Work:
        """The work of explaining texts by those of the methods that apply."""
        family, budget = self.unbuilt(task, model).family, fixed(budget)
        chosen = [m for m in methods if family in METHODS[m].families]
        if not len(texts):
            return Work("", task, model)
        lengths = [len(text.words) for text in texts]
        size = max(1, min(GROUP, int(GROUP_WORDS / np.mean(lengths))))
        # one made-up text many times is one text: a ledger would answer the others from what it knows
        group = list({id(texts[at]): texts[at] for at in quantiles(lengths, size)}.values())
        one = self.count(task, model, [group], lambda ledger, some, _: explain(ledger, some, chosen, budget), precision)
        return Work("", task, model, texts=len(texts)).add(one, len(texts) / len(group))


@cache
def _warm_up() -> None:
    """Explain a short pair by every method, so that no import is counted as a text's."""
    words = np.array([(side, *ends) for side in (0, 1) for ends in ((0, 1), (2, 6))])
    pair = Instance("pair", ("a good", "a film"), 0, words)
    for family in ("transformer", "recurrent"):
        model = UnbuiltModel("pair", family, ("no", "yes"), 16, split_words(16, family == "transformer"), 2, 2)
        explain(CountingLedger(model), [pair], [m for m in methods_for(family) if METHODS[m].given is None], LEAST)


def make_scores(methods: Sequence[str], size: int, *names: object) -> dict[str, np.ndarray]:
    """Method -> (size,) scores, alike as those of methods are: what all have in common, and noise of their own."""
    common = ALIKE * generator("plan", *names).standard_normal(size)
    own = {m: generator("plan", m, *names).standard_normal(size) for m in methods}
    return {m: noise if m == "random" else noise + common for m, noise in own.items()}


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
        _shorten(i, more.last_words) for t, more in spec.also_train.items() for i in texts_of(t, "train", more.rows)
    ]
    train = texts_of(task, "train", spec.train_rows) + also if spec.train_rows else []
    sets = (train, texts_of(task, "dev", spec.dev_rows), texts_of(task, "test", spec.test_rows))
    one = planner.training(task, model, sets, profile.training_of(task, model))
    return Work("02_train", task, model, seeds, one.texts).add(one, seeds)


def _shorten(instance: Instance, words: int) -> Instance:
    """The last words of an instance, for their number."""
    return Instance(instance.id, instance.segments, instance.label, instance.words[-words:])


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
        known = {m: dict.fromkeys(ERASURE if m in soft else ERASURE[:2], 0.0) for m in methods}
        known = known if judged and explains_predicted(profile, task) else {}

        def ask(ledger, text, _, of=(task, model, methods, known)):
            task, model, methods, known = of
            tokens, names = ledger.model.tokens(text), (task, model, 1, text.id)
            scores = make_scores(methods, len(tokens.content), *names)
            cases = cases_to_ask(profile, names, scores, known, True)
            ledger.converse((case.method, ask_erasure(tokens, case, query_segment(task))) for case in cases)

        out = Work("08_joint", task, model, 0, spec.rows_of(task, rows))
        out.own = seeds * JOINT * out.texts * len(methods)
        out.add(planner.count(task, model, texts_of(task, "test", spec.asked_of(task, rows)), ask, "float32"), seeds)
        first = next((run for run in profile.explained_runs() if run[0] == task), None)
        if first and first[1] == model:
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
