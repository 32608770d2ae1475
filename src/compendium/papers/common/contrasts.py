"""Resampling of texts and seeds, and contrasts: a statistic of means, and what chance gives.

The bootstrap, cross-fitted extremes, and exchanged names (Efron 1979; Stone 1974). A statistic that
chooses (the best of many, the least of several) takes the means twice: it chooses by the first,
over the texts outside a fold, and reads its value from the second, over those inside; the folds are
averaged, so that no choice is rewarded for the noise that it was made by. A plain one takes the
means of all texts. Letters used for shapes: n texts (rows), p numbers a text, b the sample itself
and its draws, j null worlds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, mean_of_known, percentile_interval
from attreval.core.seeds import Rng, generator
from compendium.config import BootstrapSpec, Profile
from compendium.papers.common.verdicts import LEAST_TEXTS, NO_WORLDS, Finding

FOLDS = 5
Means = TypeVar("Means")
# a plain one of the means, or one of the means to choose by and those to read -> (b,)
Statistic = Callable[..., np.ndarray]


@dataclass(frozen=True)
class SampleWeights:
    """weights: (b, n) of rows, the sample itself first. folds: (n,) which fold a row is in."""

    weights: np.ndarray
    folds: np.ndarray

    def alone(self) -> Self:
        """The sample itself, without its draws."""
        return replace(self, weights=self.weights[:1])


@dataclass(frozen=True)
class Draws:
    """How often each text and each seed is drawn; what is compared shares them."""

    texts: pd.Index
    seeds: pd.Index
    text_counts: np.ndarray
    seed_counts: np.ndarray
    folds: np.ndarray

    def sample(self, texts: Sequence, seeds: Sequence) -> SampleWeights:
        """The weights of rows that belong to these texts and seeds."""
        at_text = self.texts.get_indexer(texts)
        at_seed = self.seeds.get_indexer(seeds)
        weights = self.text_counts[:, at_text] * self.seed_counts[:, at_seed]
        return SampleWeights(weights, self.folds[at_text])


def resample(texts: Sequence, seeds: Sequence, draws: int, *names: object) -> Draws:
    """Draw texts, and seeds where there are several; the draws derive from `names`."""
    text_names = pd.Index(texts).unique()
    seed_names = pd.Index(seeds).unique()
    text_counts = _weights(len(text_names), draws, "resample", "texts", *names)
    seed_counts = _weights(len(seed_names), draws, "resample", "seeds", *names)
    folds = generator("folds", *names).permutation(len(text_names)) % FOLDS
    return Draws(text_names, seed_names, text_counts, seed_counts, folds)


def _weights(n: int, draws: int, *names: object) -> np.ndarray:
    """(1 + draws, n) how often each of n is there: once in the sample, then as it is drawn."""
    return np.concatenate([np.ones((1, n)), draw_counts(generator(*names), n, draws)])


def means(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(b, p) means of (n, p) values by (b, n) weights, NaN left out.

    Of worlds, (j, n, p) values: (j, p) by the first row of the weights.
    """
    known = ~np.isnan(values)
    whole = known.all()
    filled = values if whole else np.where(known, values, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        if values.ndim == 3:
            one = weights[0]
            total = one.sum() if whole else np.einsum("n,jnp->jp", one, known.astype(float))
            return np.einsum("n,jnp->jp", one, filled) / total
        total = weights.sum(axis=1, keepdims=True) if whole else weights @ known
        return (weights @ filled) / total


def drawn_means(values: np.ndarray, draws: int, *names: object) -> np.ndarray:
    """(1 + draws, ...) means of (n, ...) values, NaN left out: of all texts, then of drawn ones."""
    weights = _weights(len(values), draws, *names)
    flat = values.reshape(len(values), -1)
    return means(weights, flat).reshape(-1, *values.shape[1:])


def with_bounds(drawn: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """Value, lower and upper bound of (b,) numbers: the sample's own first, then drawn ones."""
    low, high = percentile_interval(drawn[1:], confidence)
    return float(drawn[0]), float(low), float(high)


def about_median(drawn: np.ndarray, confidence: float) -> list[float]:
    """Median, lower and upper bound of (b,) numbers."""
    median, _ = percentile_interval(drawn, 0)
    return [float(median), *map(float, percentile_interval(drawn, confidence))]


class MeansOfWorld(NamedTuple, Generic[Means]):
    """The means of all texts, and of each fold those to choose by and those to read."""

    whole: Means
    folds: list[tuple[Means, Means]]

    def number(self, statistic: Statistic, chosen: bool) -> np.ndarray:
        """(b,) of a statistic, cross-fitted where it chooses; NaN where there is but one fold."""
        if not chosen:
            return statistic(self.whole)
        if len(self.folds) < 2:
            return np.full(np.shape(statistic(self.whole, self.whole)), np.nan)
        return mean_of_known(np.stack([statistic(fit, read) for fit, read in self.folds]))


def make_world(
    samples: Sequence[SampleWeights], mean: Callable[[list[np.ndarray]], Means], folded: bool = True
) -> MeansOfWorld[Means]:
    """The world of some samples. mean: the means by (b, n) weights of the rows of each sample."""
    folds = []
    known = np.unique(np.concatenate([one.folds for one in samples]))
    for fold in known if folded else ():
        fit = mean([one.weights * (one.folds != fold) for one in samples])
        read = mean([one.weights * (one.folds == fold) for one in samples])
        folds.append((fit, read))
    return MeansOfWorld(mean([one.weights for one in samples]), folds)


def best_of(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b,) what is read where the fit is highest, of (b, c) candidates; NaN is never chosen."""
    chosen = np.where(np.isnan(fit), -np.inf, fit).argmax(axis=1)
    return np.take_along_axis(read, chosen[:, None], axis=1)[:, 0]


def least_of(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b,) what is read where the fit is lowest, of (b, c) candidates."""
    return best_of(-fit, read)


def true_sd(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b, ...) signed sd of true means over axis 1: their covariance in independent estimates.

    The sd of noisy means is too high by their noise; that of independent ones is right on average,
    and 0 for equals.
    """
    apart = fit - fit.mean(axis=1, keepdims=True)
    other = read - read.mean(axis=1, keepdims=True)
    variance = (apart * other).mean(axis=1)
    return np.sign(variance) * np.sqrt(np.abs(variance))


def exchange_columns(
    values: np.ndarray, worlds: int, rng: Rng, at: Sequence[int] | None = None
) -> np.ndarray:
    """(j, n, m, ...) values of (n, m, ...), names exchanged at random in each text and world.

    at: the names that are exchanged, if not all m.
    """
    moved = values if at is None else values[:, list(at)]
    n, m = moved.shape[:2]
    order = rng.random((worlds, n, m)).argsort(axis=2)
    moved = moved[np.arange(n)[None, :, None], order]
    if at is None:
        return moved
    out = np.repeat(values[None], worlds, axis=0)
    out[:, :, list(at)] = moved
    return out


# how many, what draws -> (j, n, ...) values with no effect
Worlds = Callable[[int, Rng], np.ndarray]


@dataclass(frozen=True)
class ContrastCell:
    """What a claim is decided by in one place: a task and model, and what else is held fixed.

    values: (n, ...) of the task's texts and seeds that are named. statistic: what is asked of their
    means; `chosen` where it chooses among them, and so is cross-fitted. by_scores, by_names: make
    the null worlds, with nothing but random scores and with exchanged names; None where there is no
    such null. part: the group that `over` averages within.
    """

    task: str
    model: str
    values: np.ndarray
    texts: Sequence
    seeds: Sequence
    statistic: Statistic
    chosen: bool = False
    by_scores: Worlds | None = None
    by_names: Worlds | None = None
    part: str = ""

    def evaluate(self, sample: SampleWeights, values: np.ndarray) -> np.ndarray:
        """(b,) the statistic of (n, p) values in the place of its own, first of the sample itself.

        Of (j, n, p) values, as many null worlds: (j,). A draw that leaves nothing in a fold says
        nothing of that fold.
        """
        world = make_world([sample], lambda w: means(w[0], values), self.chosen)
        return world.number(self.statistic, self.chosen)

    def as_printed(self) -> np.ndarray:
        """(1, ...) the statistic of values that are means already, as in a paper's table."""
        means = self.values.mean(axis=0, keepdims=True)
        return self.statistic(means, means) if self.chosen else self.statistic(means)


@dataclass(frozen=True)
class Difference:
    """The finding of the mean over cells, and in how many of how many cells it is above 0."""

    finding: Finding
    positive: int
    cells: int
    tasks: tuple[str, ...]
    models: tuple[str, ...]

    def finding_for(self, paper: str, profile: Profile, basis: str) -> Finding:
        """The finding with what it rests on, and whether corpus and model are the paper's."""
        based = replace(self.finding, basis=basis)
        return stand(based, paper, self.tasks, self.models, profile)


def share_of_cells(drawn: np.ndarray, _: list[ContrastCell]) -> np.ndarray:
    """(b,) in which share of cells a difference is above 0, a tie half; of (cells, b)."""
    return mean_of_known((np.sign(drawn) + 1) / 2)


def mean_over_cells(drawn: np.ndarray, _: list[ContrastCell]) -> np.ndarray:
    return mean_of_known(drawn)


# (cells, b, ...) values and the cells -> (b,)
Over = Callable[[np.ndarray, list[ContrastCell]], np.ndarray]


def mean_difference(
    cells: Iterable[ContrastCell],
    settings: BootstrapSpec,
    over: Over = mean_over_cells,
) -> Difference | None:
    """The mean of a statistic over cells, with its draws and nulls; None where there is no cell.

    Texts are drawn alike for all cells of a task. Cells of fewer than LEAST_TEXTS texts are left
    out where others have more. over: what is made of the cells, instead of their mean.
    """
    cells = [cell for cell in cells if len(cell.values)]
    enough = [cell for cell in cells if len(set(cell.texts)) >= LEAST_TEXTS]
    cells = enough or cells
    if not cells:
        return None
    samples: dict[str, Draws] = {}
    drawn = []
    worlds: dict[str, list[np.ndarray]] = {"scores": [], "names": []}
    for at, cell in enumerate(cells):
        if cell.task not in samples:
            same = [one for one in cells if one.task == cell.task]
            texts = [text for one in same for text in one.texts]
            seeds = [seed for one in same for seed in one.seeds]
            samples[cell.task] = resample(texts, seeds, settings.draws, "contrast", cell.task)
        sample = samples[cell.task].sample(cell.texts, cell.seeds)
        drawn.append(cell.evaluate(sample, cell.values))
        for kind, make in (("scores", cell.by_scores), ("names", cell.by_names)):
            if make:
                made = make(settings.nulls, generator("null", kind, cell.task, at))
                worlds[kind].append(cell.evaluate(sample, made))
    by_cell = np.array(drawn)
    value = over(by_cell, cells)
    nulls = {kind: over(np.array(of), cells) for kind, of in worlds.items() if of}
    tasks = tuple(dict.fromkeys(cell.task for cell in cells))
    models = tuple(dict.fromkeys(cell.model for cell in cells))
    finding = Finding(
        value[0],
        value[1:],
        nulls.get("scores", NO_WORLDS),
        nulls.get("names", NO_WORLDS),
        texts=min(len(set(cell.texts)) for cell in cells),
        models=len(models),
        seeds=max(len(set(cell.seeds)) for cell in cells),
    )
    positive = (by_cell[:, 0] > 0).sum() if by_cell.ndim == 2 else 0
    return Difference(finding, positive, len(cells), tasks, models)


class Statement(NamedTuple):
    """What decides a claim: a statistic of the means, which `chosen` says whether it chooses.

    exchanged: the names that decide nothing in a world with nothing to find; "" where exchanged
    names leave the number as it is. of_people: whether it rests on the texts that people marked.
    """

    statistic: Statistic
    exchanged: str = "methods"
    chosen: bool = False
    of_people: bool = False


class Statements(dict[str, Statement]):
    """The statements of a paper, by claim."""

    def decides(
        self, claim: str, exchanged: str = "methods", chosen: bool = False, of_people: bool = False
    ) -> Callable[[Statistic], Statistic]:
        """Decorate the statistic that decides a claim; the rest as in Statement."""

        def add(statistic: Statistic) -> Statistic:
            self[claim] = Statement(statistic, exchanged, chosen, of_people)
            return statistic

        return add


@dataclass(frozen=True)
class Measured(Generic[Means]):
    """The means that all statements of one paper share: drawn, and in null worlds by their kind."""

    drawn: MeansOfWorld[Means]
    nulls: Callable[[str], Sequence[MeansOfWorld[Means]]]
    about: Finding  # without numbers: what they rest on

    def finding(self, asked: Statement) -> Finding:
        """Our number for a statement, with its draws and its nulls."""
        value = self.drawn.number(asked.statistic, asked.chosen)
        nulls = []
        for kind in ("scores", asked.exchanged):
            worlds = [one.number(asked.statistic, asked.chosen) for one in self.nulls(kind)]
            nulls.append(np.concatenate(worlds) if worlds else NO_WORLDS)
        by_scores, by_names = nulls
        return replace(
            self.about,
            value=value[0],
            drawn=value[1:],
            by_scores=by_scores,
            by_names=by_names,
        )


@dataclass(frozen=True)
class Original:
    """tasks: the paper's corpora. weights: pretrained ones that it used. words: word-level models?

    code: released?
    """

    tasks: tuple[str, ...]
    weights: tuple[str, ...] = ()
    words: bool = False
    code: bool = True

    def has_model(self, name: str, profile: Profile) -> bool:
        """Whether a model of the profile is one of the paper's."""
        if name not in profile.models:
            return False
        spec = profile.models[name]
        if spec.architecture not in ("transformer", "encoder_decoder"):
            return self.words
        return (spec.weights or "").rpartition("/")[2] in self.weights


ORIGINALS = {
    "poerner2018": Original(
        ("hybrid_newsgroups", "manual_newsgroups", "agreement_linzen"), words=True
    ),
    "kamp2023": Original(("esnli",), ("distilbert-base-uncased",)),
    "zhao2023": Original(
        ("sst2", "ag_news", "evidence_inference", "multirc"),
        ("bert-base-uncased", "scibert_scivocab_uncased", "roberta-base"),
    ),
    "sun2024": Original(("snli",), ("bert-base-uncased", "bart-base"), code=False),
}


def stand(
    finding: Finding, paper: str, tasks: Iterable[str], models: Iterable[str], profile: Profile
) -> Finding:
    """The finding with whether corpus and models are the paper's, and metric where it has no code.

    corpus, model: `the paper's`, `stand-in`, or `in part`.
    """
    original = ORIGINALS[paper]
    corpus = _share_of_paper(task in original.tasks for task in tasks)
    model = _share_of_paper(original.has_model(name, profile) for name in models)
    metric = finding.metric if original.code else "made from the text, no code"
    return replace(finding, corpus=corpus, model=model, metric=metric)


def _share_of_paper(own: Iterable[bool]) -> str:
    found = list(own)
    if not any(found):
        return "stand-in"
    return "the paper's" if all(found) else "in part"
