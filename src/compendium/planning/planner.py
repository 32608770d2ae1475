"""Counting what steps ask: a few texts through the conversations of a step, before a ledger that only counts.

A few texts of middling lengths stand for all (see counting). Trainings are counted by rows, epochs and checks, without
early stopping.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from attreval.core.records import Instance
from attreval.core.seeds import generator
from attreval.methods import METHODS, methods_for
from attreval.methods.applicable import LEAST
from attreval.methods.run import explain
from attreval.models.placing import pick_device, pick_precision
from compendium.config import Profile
from compendium.corpora import TASKS
from compendium.planning.counting import (
    CountingLedger,
    Passes,
    UnbuiltModel,
    bucket,
    fixed,
    quantiles,
    scaled,
    split_words,
)
from compendium.planning.unit_costs import shape_of

SAMPLE = 3  # texts that stand for all of a step; those that are explained stand in a group, for their padding
GROUP, GROUP_WORDS = 8, 500  # texts of a group, and their words together, at most: long texts are as good as alone
FAMILIES = {"gru": "recurrent", "lstm": "recurrent", "qgru": "quasi", "qlstm": "quasi", "cnn": "convolutional"}
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

        def answer(ledger, text, at, most=None):
            tokens = ledger.model.tokens(text)
            ledger.logits([(tokens.ids[:most], tokens.segments[:most])], precision)

        checks = spec.epochs * spec.evaluations_per_epoch if train else 0
        out.add(self.count(task, model, dev, partial(answer, most=most)), checks)
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
