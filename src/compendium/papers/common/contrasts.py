"""Resampling of texts and seeds, and contrasts: a statistic of means, what chance gives in its
place, mean over cells.

The bootstrap, cross-fitted extremes, and exchanged names (Efron 1979; Stone 1974). A statistic
takes the means twice. A choice (the best of many, the least of several) is made on the first, over
the texts outside a fold, and its value read from the second, over those inside, and the folds are
averaged, so that no choice is rewarded for the noise that it was made by; a plain average reads the
second. A cell is one task and model (and what else is held fixed). Letters used for
shapes: n texts (rows), p numbers a text, b the sample itself and its draws, j null worlds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, mean_of_known, percentile_interval
from attreval.core.seeds import generator
from compendium.config import BootstrapSpec, Profile
from compendium.papers.common.verdicts import LEAST_TEXTS, Finding

FOLDS = 5
Statistic = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # (b, ...) means to choose by, (b, ...) to read -> (b,)


@dataclass(frozen=True)
class Sample:
    """weights: (b, n) of rows, the first row those of the sample itself. folds: (n,) which fold a
    row is in.
    """

    weights: np.ndarray
    folds: np.ndarray


@dataclass(frozen=True)
class Draws:
    """How often each text and each seed is drawn; what is compared shares them."""

    texts: pd.Index
    seeds: pd.Index
    text_counts: np.ndarray
    seed_counts: np.ndarray
    folds: np.ndarray

    def sample(self, texts: Sequence, seeds: Sequence) -> Sample:
        """The weights of rows that belong to these texts and seeds."""
        at_text = self.texts.get_indexer(texts)
        at_seed = self.seeds.get_indexer(seeds)
        return Sample(
            self.text_counts[:, at_text] * self.seed_counts[:, at_seed], self.folds[at_text]
        )


def draw(texts: Sequence, seeds: Sequence, draws: int, *names: object) -> Draws:
    """Draw texts, and seeds where there are several, with replacement; the draws derive from
    `names`.
    """
    of = {"texts": pd.Index(texts).unique(), "seeds": pd.Index(seeds).unique()}
    counts = [_weights(len(index), draws, "resample", what, *names) for what, index in of.items()]
    folds = generator("folds", *names).permutation(len(of["texts"])) % FOLDS
    return Draws(*of.values(), *counts, folds)


def _weights(n: int, draws: int, *names: object) -> np.ndarray:
    """(1 + draws, n) how often each of n is there: once in the sample itself, then as it
    is drawn.
    """
    return np.concatenate([np.ones((1, n)), draw_counts(generator(*names), n, draws)])


def means(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(b, p) means of (n, p) values by (b, n) weights, NaN left out; (j, p) of (j, n, p) by one row
    of them.
    """
    known = ~np.isnan(values)
    filled = values if known.all() else np.where(known, values, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        if values.ndim == 3:
            total = (
                weights.sum()
                if filled is values
                else np.einsum("n,jnp->jp", weights, known.astype(float))
            )
            return np.einsum("n,jnp->jp", weights, filled) / total
        total = weights.sum(axis=1, keepdims=True) if filled is values else weights @ known
        return (weights @ filled) / total


def drawn_means(values: np.ndarray, draws: int, *names: object) -> np.ndarray:
    """(1 + draws, ...) means of (n, ...) values over texts, NaN left out: of all of them first,
    then of drawn ones.
    """
    weights = _weights(len(values), draws, *names)
    flat = values.reshape(len(values), -1)
    return means(weights, flat).reshape(-1, *values.shape[1:])


def with_bounds(drawn: np.ndarray, confidence: float) -> list[float]:
    """Value, lower and upper bound of (b,) numbers: the sample's own first, then drawn ones."""
    return [float(drawn[0]), *map(float, percentile_interval(drawn[1:], confidence))]


def about_median(drawn: np.ndarray, confidence: float) -> list[float]:
    """Median, lower and upper bound of (b,) numbers."""
    median, _ = percentile_interval(drawn, 0)
    return [float(median), *map(float, percentile_interval(drawn, confidence))]


def evaluate(sample: Sample, values: np.ndarray, statistic: Statistic, chosen: bool) -> np.ndarray:
    """(b,) values of a statistic; its first is that of the sample itself.

    values: (n, p), or (j, n, p) for as many null worlds, each of which is one sample: (j,). chosen:
    whether it chooses anything, and so is cross-fitted. A draw that leaves nothing in a fold says
    nothing of that fold.
    """
    weights = sample.weights[0] if values.ndim == 3 else sample.weights
    folds = np.unique(sample.folds)
    if not chosen or len(folds) < 2:
        mean = means(weights, values)
        whole = statistic(mean, mean)
        return np.full(np.shape(whole), np.nan) if chosen else whole
    found = []
    for fold in folds:
        inside = sample.folds == fold
        found.append(statistic(means(weights * ~inside, values), means(weights * inside, values)))
    return mean_of_known(np.stack(found))


def best_of(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b,) what is read where the fit is highest, of (b, c) candidates; NaN is never chosen."""
    chosen = np.where(np.isnan(fit), -np.inf, fit).argmax(axis=1)
    return np.take_along_axis(read, chosen[:, None], axis=1)[:, 0]


def least_of(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b,) what is read where the fit is lowest, of (b, c) candidates."""
    return best_of(-fit, read)


def spread(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b, ...) signed sd of true means over axis 1, by the covariance of two independent estimates
    of them.

    The sd of noisy means is too high by their noise; that of independent ones is right on average,
    and 0 for equals.
    """
    apart = fit - fit.mean(axis=1, keepdims=True)
    other = read - read.mean(axis=1, keepdims=True)
    variance = (apart * other).mean(axis=1)
    return np.sign(variance) * np.sqrt(np.abs(variance))


def exchange_names(
    values: np.ndarray, worlds: int, rng: np.random.Generator, at: Sequence[int] | None = None
) -> np.ndarray:
    """(j, n, m, ...) values of (n, m, ...), the m names (or those `at`) exchanged at random in each
    text and world.
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


Worlds = Callable[
    [int, np.random.Generator], np.ndarray
]  # how many, what draws -> (j, n, ...) values with no effect


@dataclass(frozen=True)
class Cell:
    """What a claim is decided by in one place.

    values: (n, ...) of the task's texts and seeds that are named. statistic: what is asked of their
    means; `chosen` where it chooses among them, and so is cross-fitted. by_scores, by_names: make
    the null worlds, with nothing but random scores and with exchanged names; None where there is no
    such null. part: the group that `over` averages within. drawn_by: what the draws of texts derive
    from; cells that share it share their draws. () is the task.
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
    drawn_by: tuple = ()

    @property
    def names(self) -> tuple:
        """What the draws of this cell's texts derive from."""
        return self.drawn_by or ("contrast", self.task)


@dataclass(frozen=True)
class Difference:
    """finding: of the mean over cells. positive: in how many it is above 0, of so many cells, tasks
    and models.
    """

    finding: Finding
    positive: int
    cells: int
    tasks: tuple[str, ...]
    models: tuple[str, ...]

    def finding_for(self, paper: str, profile: Profile, basis: str) -> Finding:
        """The finding with what it rests on: `basis` in words, and whether corpus and model are the
        paper's.
        """
        return replace(
            self.finding, basis=basis, **standing(paper, self.tasks, self.models, profile)
        )


def mean_difference(
    cells: Iterable[Cell],
    settings: BootstrapSpec,
    over: Callable[[np.ndarray, list[Cell]], np.ndarray] = lambda drawn, _: mean_of_known(drawn),
) -> Difference | None:
    """The mean of a statistic over cells, with its draws and its nulls; None where there is no
    cell.

    Texts are drawn alike for all cells of a task. Cells of fewer than LEAST_TEXTS texts are left
    out where others have more. over: (cells, b, ...) values and the cells -> (b,), instead of their
    mean.
    """
    cells = [cell for cell in cells if len(cell.values)]
    sizes = [len(set(cell.texts)) for cell in cells]
    if any(size >= LEAST_TEXTS for size in sizes):
        cells = [cell for cell, size in zip(cells, sizes, strict=True) if size >= LEAST_TEXTS]
    if not cells:
        return None
    draws = {}
    for names in dict.fromkeys(cell.names for cell in cells):
        same = [cell for cell in cells if cell.names == names]
        texts = [text for cell in same for text in cell.texts]
        seeds = [seed for cell in same for seed in cell.seeds]
        draws[names] = draw(texts, seeds, settings.draws, *names)
    drawn = []
    by_scores = []
    by_names = []
    for at, cell in enumerate(cells):
        sample = draws[cell.names].sample(cell.texts, cell.seeds)
        drawn.append(evaluate(sample, cell.values, cell.statistic, cell.chosen))
        for kind, make, worlds in (
            ("scores", cell.by_scores, by_scores),
            ("names", cell.by_names, by_names),
        ):
            if make:
                made = make(settings.nulls, generator("null", kind, cell.task, at))
                worlds.append(evaluate(sample, made, cell.statistic, cell.chosen))
    drawn = np.array(drawn)
    value = over(drawn, cells)
    finding = Finding(
        float(value[0]),
        value[1:],
        over(np.array(by_scores), cells) if by_scores else np.zeros(0),
        over(np.array(by_names), cells) if by_names else np.zeros(0),
        texts=min(len(set(cell.texts)) for cell in cells),
        models=len({cell.model for cell in cells}),
        seeds=max(len(set(cell.seeds)) for cell in cells),
    )
    positive = int((drawn[:, 0] > 0).sum()) if drawn.ndim == 2 else 0
    tasks = tuple(dict.fromkeys(cell.task for cell in cells))
    models = tuple(dict.fromkeys(cell.model for cell in cells))
    return Difference(finding, positive, len(cells), tasks, models)


@dataclass(frozen=True)
class Original:
    """tasks: the paper's corpora. weights: pretrained ones that it used. words: word-level models?
    code: released?
    """

    tasks: tuple[str, ...]
    weights: tuple[str, ...] = ()
    words: bool = False
    code: bool = True


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


def standing(
    paper: str, tasks: Iterable[str], models: Iterable[str], profile: Profile
) -> dict[str, str]:
    """corpus and model: `the paper's`, `stand-in`, or `in part`; and metric, where there is no code
    to go by.
    """
    original = ORIGINALS[paper]

    def own(name: str) -> bool:
        if (spec := profile.models.get(name)) is None:
            return False
        if spec.architecture not in ("transformer", "encoder_decoder"):
            return original.words
        return (spec.weights or "").rpartition("/")[2] in original.weights

    found = {
        "corpus": [task in original.tasks for task in tasks],
        "model": [own(name) for name in models],
    }
    said = {what: "the paper's" if all(of) else "in part" for what, of in found.items() if any(of)}
    metric = {} if original.code else {"metric": "made from the text, no code"}
    return metric | dict.fromkeys(found, "stand-in") | said
