"""Claims of Zhao & Aletras (2023): our value of each, with its interval over texts, its nulls, and
a verdict.

The statistics need all tasks at once (an sd over tasks), so that null worlds are made of all of
them together. Letters used for shapes: n texts (rows), m methods and then their random rival, k
metrics, r ratios.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.metrics import FAITHFULNESS, HARD_OF
from attreval.metrics.diagnosticity import wins
from attreval.metrics.protocol import Protocol
from compendium.papers.common.claims import (
    Claim,
    Turn,
    each_alone,
    read_claims,
    score,
    turned_table,
)
from compendium.papers.common.contrasts import FOLDS, Sample, draw, means, standing
from compendium.papers.common.verdicts import CONTRADICTED, LEAST_TEXTS, Finding, untested
from compendium.papers.zhao2023.claim_statistics import (
    STATEMENTS,
    SWAPS,
    Cells,
    Statement,
    lead_of_the_first,
)
from compendium.papers.zhao2023.diagnosticity import HARD, count_texts
from compendium.papers.zhao2023.erasure import ROW
from compendium.papers.zhao2023.settings import (
    PUBLISHED_TASKS,
    RULES,
    compared_tasks,
    protocol_of,
    rule_setting,
)
from compendium.papers.zhao2023.tables import published_cells
from compendium.workflow.step import Step

TEXT = ROW[:-1]
OF_HARD_MEASURES = ("deeplift-low-by-nc", "rises-with-ratio", "diagnosticity-falls-again")
Won = tuple[
    np.ndarray, ...
]  # (n, m, k) wins over the rival, and of curves (n, m, 2, r) wins and values


@dataclass(frozen=True)
class TaskValues:
    """values: (n, m + 1, k) metrics of each method and of the random rival, on the rows that texts
    and models name.

    curves: (n, m + 1, 2, r) NC and NS at each ratio, where they are known. rules: (k,) when a
        metric is won.
    """

    task: str
    texts: tuple
    models: tuple
    seeds: tuple
    values: np.ndarray
    rules: Sequence[Protocol]
    curves: np.ndarray | None = None

    def won(self, order: np.ndarray | None = None) -> Won:
        """What is won. order: (n, m + 1) who stands in whose place in each row."""
        place = () if order is None else (np.arange(len(self.values))[:, None], order)
        values = self.values[place]
        won = [
            wins(values[:, :-1, k], values[:, -1:, k], rule) for k, rule in enumerate(self.rules)
        ]
        by_metric = np.stack(won, axis=-1)
        if self.curves is None:
            return (by_metric,)
        curves = self.curves[place]
        return by_metric, wins(curves[:, :-1], curves[:, -1:]), curves[:, :-1]


def values_by_task(
    pairs: pd.DataFrame,
    curves: pd.DataFrame | None,
    step: Step,
    settings: Sequence[str] = ("main",),
) -> tuple[list[TaskValues], tuple[str, ...]]:
    """The values of each task that the paper's averages are of, in one array, and the methods along
    its axis.

    settings: of several, the soft metrics of each, on rows that have them all. Tasks of fewer than
    LEAST_TEXTS texts are left out where another has more.
    """
    part = pairs[pairs.setting.isin(settings)]
    counts = part.groupby("method", sort=False).task.nunique()
    methods = list(counts.index[counts == part.task.nunique()])
    metrics = list(FAITHFULNESS if len(settings) == 1 else HARD_OF)
    out = []
    for task in compared_tasks(part.task):
        mine = part[(part.task == task) & part.method.isin(methods)]
        by_setting = dict(list(mine.groupby("setting")))
        if len(by_setting) < len(settings):
            continue
        tables = [
            table for name in settings for table in _by_row(by_setting[name], methods, metrics)
        ]
        rows = reduce(
            lambda left, right: left.intersection(right, sort=False),
            (table.index for table in tables),
        )
        if rows.empty:
            continue
        one = TaskValues(
            task,
            texts=tuple(rows.get_level_values("instance")),
            models=tuple(rows.get_level_values("model")),
            seeds=tuple(rows.get_level_values("seed")),
            values=np.stack([table.loc[rows].to_numpy() for table in tables], axis=-1),
            rules=[
                protocol_of(step.profile, task, setting) for setting in settings for _ in metrics
            ],
            curves=_curves_of(curves, rows, methods),
        )
        out.append(one)
    enough = [one for one in out if len(set(one.texts)) >= LEAST_TEXTS]
    return enough or out, tuple(methods)


def _by_row(pairs: pd.DataFrame, methods: list[str], metrics: list[str]) -> Iterator[pd.DataFrame]:
    """Of each metric a table, a row a text and model: the value of each method, and of the
    rival.
    """
    both = [*metrics, *(f"{metric}_rival" for metric in metrics)]
    wide = pairs.pivot_table(index=TEXT, columns="method", values=both, sort=False, aggfunc="first")
    for metric in metrics:
        rival = wide[f"{metric}_rival"].bfill(axis=1).iloc[:, 0]
        yield wide[metric].reindex(columns=methods).assign(rival=rival).dropna(subset=methods)


def _curves_of(
    curves: pd.DataFrame | None, rows: pd.MultiIndex, methods: list[str]
) -> np.ndarray | None:
    """(n, m + 1, 2, r) NC and NS of the rows at each ratio; None where some are not known."""
    if curves is None or curves.empty:
        return None
    names = list(HARD.values())
    wide = curves.pivot_table(
        index=TEXT, columns=["method", "ratio"], values=names, sort=True, aggfunc="first"
    )
    order = product([*methods, "random"], names, sorted(curves.ratio.unique()))
    columns = [(name, method, ratio) for method, name, ratio in order]
    out = wide.reindex(index=rows, columns=columns).to_numpy(dtype=float)
    return None if np.isnan(out).any() else out.reshape(len(rows), len(methods) + 1, len(names), -1)


class WorldCells(NamedTuple):
    """The cells of all texts, and of each fold those to choose by and those to read."""

    whole: Cells
    folds: list[tuple[Cells, Cells]]


class Numbers:
    """Every statistic on the same draws and the same null worlds of one set of tasks."""

    def __init__(self, tasks: list[TaskValues], methods: tuple[str, ...], step: Step):
        self.tasks = tasks
        self.methods = methods
        self.profile = step.profile
        draws = step.profile.bootstrap.draws
        self.samples = [
            draw(t.texts, t.seeds, draws, "claims", t.task).sample(t.texts, t.seeds) for t in tasks
        ]
        self.won = [task.won() for task in tasks]
        self.drawn = self._world(self.won, self.samples)
        self._nulls: dict[str, list[WorldCells]] = {}

    def finding(self, statement: Statement, basis: str = "", nulls: bool = True) -> Finding | None:
        """The value, draws and, unless they are not wanted, nulls; None where these tasks and
        methods cannot tell.
        """
        drawn = statement.number(*self.drawn)
        if drawn is None:
            return None
        chance = []
        for kind in ("scores", statement.exchanged) if nulls else ():
            found = [statement.number(*world)[0] for world in self._worlds(kind)]
            chance.append(np.array(found))
        models = {model for task in self.tasks for model in task.models}
        return Finding(
            float(drawn[0]),
            drawn[1:],
            *chance,
            texts=min(len(set(task.texts)) for task in self.tasks),
            models=len(models),
            seeds=max(len(set(task.seeds)) for task in self.tasks),
            basis=basis,
            **standing("zhao2023", [task.task for task in self.tasks], models, self.profile),
        )

    def _world(self, won: list[Won], samples: list[Sample]) -> WorldCells:
        """The cells of one world. won: of each task."""

        def cells(weights: list[np.ndarray]) -> Cells:
            by_task = []
            for of_task, w in zip(won, weights, strict=True):
                by_task.append(
                    [means(w, v.reshape(len(v), -1)).reshape(len(w), *v.shape[1:]) for v in of_task]
                )
            values, *of_curves = [np.stack(arrays, axis=1) for arrays in zip(*by_task, strict=True)]
            return Cells(values, tuple(task.task for task in self.tasks), self.methods, *of_curves)

        folds = []
        for fold in range(FOLDS):
            fit = cells([sample.weights * (sample.folds != fold) for sample in samples])
            read = cells([sample.weights * (sample.folds == fold) for sample in samples])
            folds.append((fit, read))
        return WorldCells(cells([sample.weights for sample in samples]), folds)

    def _worlds(self, kind: str) -> list[WorldCells]:
        """The null worlds of a kind: where nothing is to be found."""
        if kind not in self._nulls:
            rng = generator("null", kind, *(task.task for task in self.tasks))
            ones = [Sample(sample.weights[:1], sample.folds) for sample in self.samples]
            number = 0 if kind == "none" else self.profile.bootstrap.nulls
            self._nulls[kind] = [
                self._world(self._won_in_null(kind, rng), ones) for _ in range(number)
            ]
        return self._nulls[kind]

    def _won_in_null(self, kind: str, rng: np.random.Generator) -> list[Won]:
        """What is won in one null world.

        scores: the rival and the methods change places at random in each text, as they may where
            all scores are random;
        methods: the methods alone. tasks: the rows of all tasks are dealt out anew, as many to
        each. Else two metrics change places in half of the texts.
        """
        if kind in ("scores", "methods"):
            fixed = 1 if kind == "methods" else 0  # the rival, which is last, keeps its place
            moved = len(self.methods) + 1 - fixed
            orders = [rng.random((len(task.values), moved)).argsort(axis=1) for task in self.tasks]
            orders = [
                np.pad(order, ((0, 0), (0, fixed)), constant_values=moved) for order in orders
            ]
            return [task.won(order) for task, order in zip(self.tasks, orders, strict=True)]
        if kind == "tasks":
            ends = np.cumsum([len(task.values) for task in self.tasks])
            order = rng.permutation(ends[-1])
            pooled = [np.concatenate(arrays)[order] for arrays in zip(*self.won, strict=True)]
            return list(zip(*(np.split(array, ends[:-1]) for array in pooled), strict=True))
        swapped = []
        for won, *of_curves in self.won:
            flip = rng.random((len(won), 1, 1)) < 0.5
            swapped.append((np.where(flip, won[..., SWAPS[kind]], won), *of_curves))
        return swapped


def claim_findings(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Finding]:
    """By claim our number; a claim that this profile cannot test is left out."""
    tasks, methods = values_by_task(pairs, curves, step)
    numbers = Numbers(tasks, methods, step)
    basis = ", ".join(f"{task.task} ({len(set(task.texts))} texts)" for task in tasks)
    found = {name: numbers.finding(statement, basis) for name, statement in STATEMENTS.items()}
    found["dropout-over-alternatives"] = over_alternatives(step, pairs)
    known = {name: finding for name, finding in found.items() if finding is not None}
    for name in known.keys() - set(OF_HARD_MEASURES):
        known[name] = replace(known[name], metric="normalised as we read it")
    return known


def over_alternatives(step: Step, pairs: pd.DataFrame) -> Finding | None:
    """By how much dropout's soft metrics lie above the best alternative's, the lesser of the two,
    on the same texts.
    """
    settings = [
        s for s in dict.fromkeys(pairs.setting) if s.startswith(("noise_", "variance_", "attend"))
    ]
    if not settings or "control" not in set(pairs.setting):
        return None
    tasks, methods = values_by_task(pairs, None, step, ("control", *settings))
    if not tasks:
        return None
    basis = (
        f"{len(settings)} alternatives on the same texts of "
        f"{', '.join(task.task for task in tasks)}"
    )
    return Numbers(tasks, methods, step).finding(
        Statement(lead_of_the_first, "none", chosen=True), basis
    )


def faithfulness_claims(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """One row a claim of Zhao & Aletras 2023 with our value, its interval, its nulls and a
    verdict.
    """
    claims = read_claims("zhao2023")
    sizes = count_texts(pairs[pairs.setting == "main"], sort=False)
    small = ", ".join(
        f"{task} has {texts} texts" for task, texts in sizes.items() if texts < LEAST_TEXTS
    )
    why = f"no task of {LEAST_TEXTS} texts or more tests it" + (f"; {small}" if small else "")
    found = {claim.id: untested(why) for claim in claims} | claim_findings(step, pairs, curves)
    return score(claims, found, step.profile.bootstrap.confidence, published_values())


def published_values() -> dict[str, float]:
    """By claim that the paper's Table 6 decides: its number made from those cells."""
    table = published_cells()
    by_dataset = dict(list(table.groupby("dataset", sort=False)))
    methods = tuple(dict.fromkeys(table.method))
    values = [
        part.set_index("method").loc[list(methods), list(FAITHFULNESS)]
        for part in by_dataset.values()
    ]
    ours = {theirs: task for task, theirs in PUBLISHED_TASKS.items()}
    cells = Cells(
        np.array(values, dtype=float)[None], tuple(ours[name] for name in by_dataset), methods
    )
    found = {name: statement.statistic(cells, cells) for name, statement in STATEMENTS.items()}
    return {name: float(value[0]) for name, value in found.items() if value is not None}


def turned_claims(
    step: Step, pairs: pd.DataFrame, curves: pd.DataFrame, judged: pd.DataFrame
) -> pd.DataFrame:
    """One row a contradicted claim and thing turned, as `turned_table`. judged: of
    `faithfulness_claims`.
    """
    made = list(_turned(step, pairs, curves)) if (judged.verdict == CONTRADICTED).any() else []

    def turn(claim: Claim) -> Iterator[Turn]:
        statement = STATEMENTS.get(claim.id)
        for what, how, numbers in made if statement else ():
            # one task has no spread over tasks
            can_tell = numbers and (statement.exchanged != "tasks" or len(numbers.tasks) > 1)
            yield Turn(what, how, numbers.finding(statement, nulls=False) if can_tell else None)

    return turned_table(read_claims("zhao2023"), judged, turn, step.profile.bootstrap.confidence)


def _turned(
    step: Step, pairs: pd.DataFrame, curves: pd.DataFrame
) -> Iterator[tuple[str, str, Numbers | None]]:
    """What is turned, to what, and the statistics then, None where no task has them all: of each
    task and model alone, and under each rule of `settings.RULES` but that of the run, where all
    tasks know it by one name.
    """

    def numbers(
        some: pd.DataFrame, curves: pd.DataFrame | None, setting: str, ties: str | None
    ) -> Numbers | None:
        tasks, methods = values_by_task(some, curves, step, (setting,))
        if ties:
            tasks = [
                replace(task, rules=[replace(rule, ties=ties) for rule in task.rules])
                for task in tasks
            ]
        return Numbers(tasks, methods, step) if tasks else None

    main = pairs[pairs.setting == "main"]
    compared = main[main.task.isin(compared_tasks(main.task))]
    for what, how, part in chain(
        each_alone(compared, {"task": "corpus"}), each_alone(main, {"model": "model"})
    ):
        yield what, how, numbers(part, curves, "main", None)
    tasks = list(dict.fromkeys(pairs.task))
    own = {protocol_of(step.profile, task, "main").ties for task in tasks}
    for rule in RULES.values():
        settings = {rule_setting(step.profile, task, rule.setting) for task in tasks}
        if len(settings) == 1 and (settings, {rule.ties}) != ({"main"}, own):
            yield "protocol", rule.title.lower(), numbers(pairs, None, settings.pop(), rule.ties)
