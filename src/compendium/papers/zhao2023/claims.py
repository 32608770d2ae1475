"""Claims of Zhao & Aletras (2023): our value of each, with its interval over texts, its nulls, and a verdict.

Letters used for shapes: n texts (rows), m methods and then their random rival, k metrics, r ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.metrics import FAITHFULNESS
from attreval.metrics.diagnosticity import wins
from attreval.metrics.protocol import Protocol
from compendium.papers.common.claims import read_claims, score
from compendium.papers.common.contrasts import standing
from compendium.papers.common.resampling import FOLDS, Sample, best_of, draw, least_of, mean_of_known, means
from compendium.papers.common.verdicts import LEAST_TEXTS, Finding
from compendium.papers.zhao2023.claim_statistics import (
    NC,
    NS,
    SOFT_NC,
    SOFT_NS,
    STATEMENTS,
    Cells,
    Statement,
)
from compendium.papers.zhao2023.datasets import compared_tasks
from compendium.papers.zhao2023.diagnosticity import HARD
from compendium.papers.zhao2023.erasure import RUN
from compendium.papers.zhao2023.settings import list_settings
from compendium.papers.zhao2023.tables import published_cells
from compendium.workflow.step import Step

ROW = [*RUN, "instance"]
OF_HARD_MEASURES = ("deeplift-low-by-nc", "rises-with-ratio", "diagnosticity-falls-again")
SWAPS = {
    "hard and soft": {NC: SOFT_NC, SOFT_NC: NC, NS: SOFT_NS, SOFT_NS: NS},
    "comprehensiveness and sufficiency": {NC: NS, NS: NC, SOFT_NC: SOFT_NS, SOFT_NS: SOFT_NC},
}


@dataclass(frozen=True)
class TaskValues:
    """values: (n, m + 1, k) metrics of each method and of the random rival, on the rows that texts and models name.

    curves: (n, m + 1, 2, r) NC and NS at each ratio, where they are known. rules: (k,) when a metric is won.
    """

    task: str
    texts: tuple
    models: tuple
    seeds: tuple
    values: np.ndarray
    rules: Sequence[Protocol]
    curves: np.ndarray | None = None

    def won(self, order: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """(n, m, k) wins over the rival, (n, m, 2, r) at each ratio, (n, m, 2, r) the values themselves.

        order: (n, m + 1) who stands in whose place in each row.
        """
        at = np.arange(len(self.values))[:, None]
        values = self.values if order is None else self.values[at, order]
        own, rival = values[:, :-1], np.broadcast_to(values[:, -1:], values[:, :-1].shape)
        out = np.stack([wins(own[..., k], rival[..., k], rule) for k, rule in enumerate(self.rules)], axis=-1)
        if self.curves is None:
            return (out,)
        curves = self.curves if order is None else self.curves[at, order]
        return out, wins(curves[:, :-1], np.broadcast_to(curves[:, -1:], curves[:, :-1].shape)), curves[:, :-1]


def values_by_task(
    pairs: pd.DataFrame, curves: pd.DataFrame | None, step: Step, settings: Sequence[str] = ("main",)
) -> tuple[list[TaskValues], tuple[str, ...]]:
    """The values of each task that the paper's averages are of, in one array, and the methods along its axis.

    settings: of several, the soft metrics of each, on rows that have them all. Tasks of fewer than LEAST_TEXTS texts
    are left out where another has more.
    """
    part = pairs[pairs.setting.isin(settings)]
    counts = part.groupby("method", sort=False).task.nunique()
    methods = list(counts.index[counts == part.task.nunique()])
    metrics = list(FAITHFULNESS) if len(settings) == 1 else [FAITHFULNESS[SOFT_NC], FAITHFULNESS[SOFT_NS]]
    out = []
    for task in compared_tasks(list(dict.fromkeys(part.task))):
        mine = part[(part.task == task) & part.method.isin(methods)]
        tables, rivals = [], []
        for setting in settings:
            one = mine[mine.setting == setting].pivot_table(index=ROW, columns="method", sort=False, aggfunc="first")
            for metric in metrics:
                tables.append(one[metric].reindex(columns=methods) if len(one) else None)
                rivals.append(one[f"{metric}_rival"].bfill(axis=1).iloc[:, 0] if len(one) else None)
        if any(table is None for table in tables):
            continue
        rows = tables[0].dropna().index
        for table in tables[1:]:
            rows = rows.intersection(table.dropna().index, sort=False)
        if not len(rows):
            continue
        values = np.stack([table.loc[rows].to_numpy(dtype=float) for table in tables], axis=-1)
        rival = np.stack([one.loc[rows].to_numpy(dtype=float) for one in rivals], axis=-1)
        values = np.concatenate([values, rival[:, None]], axis=1)
        known = list_settings(step.profile, task)
        rules = [known[setting].protocol for setting in settings for _ in metrics]
        names = (tuple(rows.get_level_values(name)) for name in ("instance", "model", "seed"))
        out.append(TaskValues(task, *names, values, rules, _curves_of(curves, rows, methods)))
    enough = [one for one in out if len(set(one.texts)) >= LEAST_TEXTS]
    return enough or out, tuple(methods)


def _curves_of(curves: pd.DataFrame | None, rows: pd.MultiIndex, methods: list[str]) -> np.ndarray | None:
    """(n, m + 1, 2, r) NC and NS of the rows at each ratio; None where some are not known."""
    if curves is None or not len(curves):
        return None
    names = list(HARD.values())
    wide = curves.pivot_table(index=ROW, columns=["method", "ratio"], values=names, sort=True, aggfunc="first")
    ratios = sorted(curves.ratio.unique())
    try:
        found = [[[wide[n][m][r].loc[rows] for r in ratios] for n in names] for m in (*methods, "random")]
    except KeyError:
        return None
    out = np.array(found, dtype=float).transpose(3, 0, 1, 2)
    return None if np.isnan(out).any() else out


@dataclass(frozen=True)
class World:
    """whole: cells of all texts; folds: those to choose by and those to read, for each fold."""

    whole: Cells
    folds: list[tuple[Cells, Cells]]

    def number(self, statement: Statement) -> np.ndarray | None:
        """(b,) a statement's number; cross-fitted where it chooses. None where these cells cannot tell."""
        if not statement.chosen:
            return statement.statistic(self.whole, self.whole)
        found = [statement.statistic(fit, read) for fit, read in self.folds]
        return None if found[0] is None else mean_of_known(np.stack(found))


class Numbers:
    """Every statistic on the same draws and the same null worlds of one set of tasks."""

    def __init__(self, tasks: list[TaskValues], methods: tuple[str, ...], step: Step):
        self.tasks, self.methods, self.profile = tasks, methods, step.profile
        self.settings = step.profile.bootstrap
        self.samples = [
            draw(t.texts, t.seeds, self.settings.draws, "claims", t.task).sample(t.texts, t.seeds) for t in tasks
        ]
        self.base = [task.won() for task in tasks]
        self.drawn = self._world(self.base, self.samples)
        self._nulls: dict[str, list[World]] = {}

    def finding(self, statement: Statement, basis: str) -> Finding | None:
        """The value, draws and nulls of a statement; None where these tasks and methods cannot tell."""
        drawn = self.drawn.number(statement)
        if drawn is None:
            return None
        scores, names = (
            np.array([world.number(statement)[0] for world in self._worlds(kind)])
            for kind in ("scores", statement.exchanged)
        )
        return Finding(
            float(drawn[0]),
            drawn[1:],
            scores,
            names,
            texts=min(len(set(task.texts)) for task in self.tasks),
            models=len({model for task in self.tasks for model in task.models}),
            seeds=max(len(set(task.seeds)) for task in self.tasks),
            basis=basis,
            **standing(
                "zhao2023",
                [task.task for task in self.tasks],
                {model for task in self.tasks for model in task.models},
                self.profile,
            ),
        )

    def _world(self, won: list, samples: list[Sample]) -> World:
        """Cells of one world, whole and by fold."""
        folds = []
        for fold in range(FOLDS):
            inside = [sample.folds == fold for sample in samples]
            fit = self._cells(won, [s.weights * ~one for s, one in zip(samples, inside, strict=True)])
            read = self._cells(won, [s.weights * one for s, one in zip(samples, inside, strict=True)])
            folds.append((fit, read))
        return World(self._cells(won, [sample.weights for sample in samples]), folds)

    def _cells(self, won: list, weights: list[np.ndarray]) -> Cells:
        """Means of what was won, by task."""
        parts = []
        for of_task, weight in zip(won, weights, strict=True):
            parts.append([means(weight, v.reshape(len(v), -1)).reshape(len(weight), *v.shape[1:]) for v in of_task])
        stacked = [np.stack(part, axis=1) for part in zip(*parts, strict=True)]
        return Cells(stacked[0], tuple(task.task for task in self.tasks), self.methods, *stacked[1:])

    def _worlds(self, kind: str) -> list[World]:
        """The null worlds of a kind: what is won there.

        scores: the rival and the methods change places at random in each text, as they may where all scores are random.
        """
        if kind not in self._nulls:
            rng = generator("null", kind, *(task.task for task in self.tasks))
            ones = [Sample(sample.weights[:1], sample.folds) for sample in self.samples]
            number = 0 if kind == "none" else self.settings.nulls
            self._nulls[kind] = [self._world(self._won(kind, rng), ones) for _ in range(number)]
        return self._nulls[kind]

    def _won(self, kind: str, rng: np.random.Generator) -> list:
        """What is won in one null world."""
        if kind in ("scores", "methods"):
            return [task.won(self._places(task, kind, rng)) for task in self.tasks]
        if kind not in SWAPS:
            return self._other_tasks(self.base, rng)
        swapped = []
        for of_task in self.base:
            values = of_task[0].copy()
            flip = rng.random(len(values)) < 0.5
            values[flip] = values[flip][..., [SWAPS[kind][k] for k in range(values.shape[-1])]]
            swapped.append((values, *of_task[1:]))
        return swapped

    def _places(self, task: TaskValues, kind: str, rng: np.random.Generator) -> np.ndarray:
        """(n, m + 1) who stands in whose place: anybody, or the methods among themselves."""
        n, m = task.values.shape[:2]
        if kind == "scores":
            return rng.random((n, m)).argsort(axis=1)
        return np.concatenate([rng.random((n, m - 1)).argsort(axis=1), np.full((n, 1), m - 1)], axis=1)

    @staticmethod
    def _other_tasks(base: list, rng: np.random.Generator) -> list:
        """The rows of all tasks dealt out anew, as many to each."""
        sizes = [len(of_task[0]) for of_task in base]
        order = rng.permutation(sum(sizes))
        pooled = [np.concatenate(arrays)[order] for arrays in zip(*base, strict=True)]
        parts = [np.split(array, np.cumsum(sizes)[:-1]) for array in pooled]
        return [tuple(part[at] for part in parts) for at in range(len(sizes))]


def claim_findings(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Finding]:
    """By claim our number; a claim that this profile cannot test is left out."""
    tasks, methods = values_by_task(pairs, curves, step)
    numbers = Numbers(tasks, methods, step)
    said = ", ".join(f"{task.task} ({len(set(task.texts))} texts)" for task in tasks)
    found = {name: numbers.finding(statement, said) for name, statement in STATEMENTS.items()}
    found["dropout-over-alternatives"] = over_alternatives(step, pairs)
    known = {name: finding for name, finding in found.items() if finding is not None}
    return {n: f if n in OF_HARD_MEASURES else replace(f, metric="normalised as we read it") for n, f in known.items()}


def over_alternatives(step: Step, pairs: pd.DataFrame) -> Finding | None:
    """By how much dropout's soft metrics lie above the best alternative's, the lesser of the two, on the same texts."""
    settings = [s for s in dict.fromkeys(pairs.setting) if s.startswith(("noise_", "variance_", "attend"))]
    if not settings or not (pairs.setting == "control").any():
        return None
    tasks, methods = values_by_task(pairs, None, step, ("control", *settings))
    if not tasks:
        return None

    def means_of(cells: Cells) -> np.ndarray:
        """(b, settings, 2), dropout first."""
        means = cells.values.mean(axis=(1, 2))
        return means.reshape(len(means), -1, 2)

    def lead(fit: Cells, read: Cells) -> np.ndarray:
        chosen, shown = means_of(fit), means_of(read)
        leads = [
            one[:, 0, metric] - best_of(chosen[:, 1:, metric], one[:, 1:, metric])
            for one in (chosen, shown)
            for metric in (0, 1)
        ]
        return least_of(np.stack(leads[:2], axis=1), np.stack(leads[2:], axis=1))

    basis = f"{len(settings)} alternatives on the same texts of {', '.join(task.task for task in tasks)}"
    return Numbers(tasks, methods, step).finding(Statement(lead, "none", True), basis)


def faithfulness_claims(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """One row a claim of Zhao & Aletras 2023 with our value, its interval, its nulls and a verdict.

    pairs, curves: see papers.zhao2023.diagnosticity and .erasure.
    """
    claims, found = read_claims("zhao2023"), claim_findings(step, pairs, curves)
    sizes = pairs[pairs.setting == "main"].groupby("task", sort=False).instance.nunique()
    small = ", ".join(f"{task} has {n} texts" for task, n in sizes.items() if n < LEAST_TEXTS)
    for claim in claims:
        if claim.id not in found:
            why = f"no task of {LEAST_TEXTS} texts or more tests it" + (f"; {small}" if small else "")
            found[claim.id] = Finding(float("nan"), np.full(1, np.nan), reason=why)
    return score(claims, found, step.profile.bootstrap.confidence, published_values())


def published_values() -> dict[str, float]:
    """By claim that the paper's Table 6 decides: its number made from those cells."""
    table = published_cells()
    tasks, methods = tuple(dict.fromkeys(table.dataset)), tuple(dict.fromkeys(table.method))
    by_cell = table.set_index(["dataset", "method"])[list(FAITHFULNESS)]
    values = np.array([[by_cell.loc[(t, m)].to_numpy(dtype=float) for m in methods] for t in tasks])[None]
    ours = {"SST": "sst2", "EvInf": "evidence_inference", "AG": "ag_news", "MultiRC": "multirc"}
    cells = Cells(values, tuple(ours[t] for t in tasks), methods)
    found = {name: statement.statistic(cells, cells) for name, statement in STATEMENTS.items()}
    return {name: float(value[0]) for name, value in found.items() if value is not None}
