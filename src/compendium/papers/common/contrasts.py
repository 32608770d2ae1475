"""Contrasts: an array, a statistic of its means, and what chance gives in its place, averaged over cells.

A cell is one task and model (and what else is held fixed). Where what it was measured on is not the paper's own corpus,
model or metric, `Difference.finding_for` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attreval.core.seeds import generator
from compendium.config import BootstrapSpec, Profile
from compendium.papers.common.resampling import Statistic, draw, evaluate, mean_of_known
from compendium.papers.common.verdicts import LEAST_TEXTS, Finding

Worlds = Callable[[int, np.random.Generator], np.ndarray]  # how many, what draws -> (j, n, ...) values with no effect


@dataclass(frozen=True)
class Cell:
    """What a claim is decided by in one place.

    values: (n, ...) of the task's texts and seeds that are named. statistic: what is asked of their means; `chosen`
    where it chooses among them, and so is cross-fitted. by_scores, by_names: make the null worlds, with nothing but
    random scores and with exchanged names; None where there is no such null. part: what `over` tells cells apart by.
    drawn_by: what the draws of texts derive from; cells that share it share their draws. () is the task.
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
    """finding: of the mean over cells. positive: in how many it is above 0, of so many cells, tasks and models."""

    finding: Finding
    positive: int
    cells: int
    tasks: tuple[str, ...]
    models: tuple[str, ...]

    def finding_for(self, paper: str, profile: Profile, basis: str) -> Finding:
        """The finding with what it rests on: `basis` in words, and whether corpus and model are the paper's."""
        return replace(self.finding, basis=basis, **standing(paper, self.tasks, self.models, profile))


def mean_difference(
    cells: Iterable[Cell],
    settings: BootstrapSpec,
    over: Callable[[np.ndarray, list[Cell]], np.ndarray] = lambda drawn, _: mean_of_known(drawn),
) -> Difference | None:
    """The mean of a statistic over cells, with its draws and its nulls; None where there is no cell.

    Texts are drawn with replacement, the same draw for all cells of a task. Cells of fewer than LEAST_TEXTS texts are
    left out where others have more. over: (cells, b, ...) values and the cells -> (b,), instead of their mean.
    """
    cells = [cell for cell in cells if len(cell.values)]
    sizes = [len(set(cell.texts)) for cell in cells]
    if any(size >= LEAST_TEXTS for size in sizes):
        cells = [cell for cell, size in zip(cells, sizes, strict=True) if size >= LEAST_TEXTS]
    if not cells:
        return None
    drawn, nulls, draws = [], {"scores": [], "names": []}, {}
    for names in dict.fromkeys(cell.names for cell in cells):
        same = [cell for cell in cells if cell.names == names]
        texts, seeds = ([label for cell in same for label in getattr(cell, name)] for name in ("texts", "seeds"))
        draws[names] = draw(texts, seeds, settings.draws, *names)
    for at, cell in enumerate(cells):
        sample = draws[cell.names].sample(cell.texts, cell.seeds)
        drawn.append(evaluate(sample, cell.values, cell.statistic, cell.chosen))
        for kind, worlds in nulls.items():
            if make := getattr(cell, f"by_{kind}"):
                made = make(settings.nulls, generator("null", kind, cell.task, at))
                worlds.append(evaluate(sample, made, cell.statistic, cell.chosen))
    drawn = np.array(drawn)
    value = over(drawn, cells)
    finding = Finding(
        float(value[0]),
        value[1:],
        *(over(np.array(worlds), cells) if worlds else np.zeros(0) for worlds in nulls.values()),
        texts=min(len(set(cell.texts)) for cell in cells),
        models=len({cell.model for cell in cells}),
        seeds=max(len(set(cell.seeds)) for cell in cells),
    )
    positive = int((drawn[:, 0] > 0).sum()) if drawn.ndim == 2 else 0
    named = (tuple(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("task", "model"))
    return Difference(finding, positive, len(cells), *named)


@dataclass(frozen=True)
class Original:
    """tasks: the paper's corpora. weights: pretrained ones that it used. words: word-level models? code: released?"""

    tasks: tuple[str, ...]
    weights: tuple[str, ...] = ()
    words: bool = False
    code: bool = True


ORIGINALS = {
    "poerner2018": Original(("hybrid_newsgroups", "manual_newsgroups", "agreement_linzen"), words=True),
    "kamp2023": Original(("esnli",), ("distilbert-base-uncased",)),
    "zhao2023": Original(
        ("sst2", "ag_news", "evidence_inference", "multirc"),
        ("bert-base-uncased", "scibert_scivocab_uncased", "roberta-base"),
    ),
    "sun2024": Original(("snli",), ("bert-base-uncased", "bart-base"), code=False),
}


def standing(paper: str, tasks: Iterable[str], models: Iterable[str], profile: Profile) -> dict[str, str]:
    """corpus and model: `the paper's`, `stand-in`, or `in part`; and metric, where there is no code to go by."""
    original = ORIGINALS[paper]

    def own(name: str) -> bool:
        spec = profile.models.get(name)
        if spec is None:
            return False
        if spec.architecture not in ("transformer", "encoder_decoder"):
            return original.words
        return (spec.weights or "").rpartition("/")[2] in original.weights

    def say(found: list[bool]) -> str:
        return "the paper's" if found and all(found) else "in part" if any(found) else "stand-in"

    metric = {} if original.code else {"metric": "made from the text, no code"}
    return metric | {
        "corpus": say([task in original.tasks for task in tasks]),
        "model": say([own(name) for name in models]),
    }
