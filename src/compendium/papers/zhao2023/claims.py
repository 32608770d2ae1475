"""Claims of Zhao & Aletras (2023): our value of each, its interval over texts, nulls and verdict.

The statistics need all tasks at once (an sd over tasks), so that null worlds are made of all of
them together. Letters used for shapes: n texts (rows), m methods and then their random rival, k
metrics, r ratios.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import chain, product

import numpy as np
import pandas as pd

from attreval.core.seeds import Rng, generator
from attreval.metrics import FAITHFULNESS, HARD_OF
from attreval.metrics.diagnosticity import wins
from attreval.metrics.protocol import Protocol
from compendium.config import Profile
from compendium.papers.common.claims import (
    Claim,
    Judged,
    Turn,
    Turnable,
    Turning,
    each_alone,
    read_claims,
    score,
    settle,
)
from compendium.papers.common.contrasts import (
    MeansOfWorld,
    Measured,
    SampleWeights,
    Statement,
    make_world,
    means,
    resample,
    stand,
)
from compendium.papers.common.verdicts import LEAST_TEXTS, Finding, untested
from compendium.papers.zhao2023.claim_statistics import (
    STATEMENTS,
    SWAPS,
    CannotTell,
    Cells,
    lead_of_the_first,
)
from compendium.papers.zhao2023.diagnosticity import HARD, count_texts
from compendium.papers.zhao2023.erasure import ROW
from compendium.papers.zhao2023.settings import (
    PUBLISHED_TASKS,
    RULES,
    compared_rows,
    compared_tasks,
    main_rows,
    protocol_of,
    rule_setting,
)
from compendium.papers.zhao2023.tables import published_cells
from compendium.workflow.step import Step

TEXT = ROW[:-1]
OPEN_RULES = ("ties_half", "released")  # the paper names no margin, and its code does otherwise
OF_HARD_MEASURES = ("deeplift-low-by-nc", "rises-with-ratio", "diagnosticity-falls-again")
# (n, m, k) wins over the rival, and of curves (n, m, 2, r) wins and values
Won = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class TaskValues:
    """values: (n, m + 1, k) metrics of methods and of the random rival, a row a text and model.

    curves: (n, m + 1, 2, r) NC and NS at each ratio, where they are known. rules: (k,) when a
        metric is won.
    """

    task: str
    texts: Sequence[str]
    models: Sequence[str]
    seeds: Sequence[int]
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


@dataclass(frozen=True)
class Compared:
    """The values of each task that the paper's averages are of, and methods along their axis."""

    tasks: list[TaskValues]
    methods: tuple[str, ...]

    def measured(self, profile: Profile, basis: str = "", nulls: bool = True) -> Measured[Cells]:
        """What all statements share, with null worlds unless they are not wanted."""
        settings = profile.bootstrap
        names = tuple(one.task for one in self.tasks)
        samples = [
            resample(one.texts, one.seeds, settings.draws, "claims", one.task).sample(
                one.texts, one.seeds
            )
            for one in self.tasks
        ]
        alone = [sample.alone() for sample in samples]
        own = [one.won() for one in self.tasks]

        @cache
        def null_worlds(kind: str) -> list[MeansOfWorld[Cells]]:
            rng = generator("null", kind, *names)
            count = settings.nulls if nulls and kind != "none" else 0
            return [self._world(self._null(kind, own, rng), alone) for _ in range(count)]

        models = {model for one in self.tasks for model in one.models}
        about = replace(
            untested(""),
            texts=min(len(set(one.texts)) for one in self.tasks),
            models=len(models),
            seeds=max(len(set(one.seeds)) for one in self.tasks),
            basis=basis,
        )
        about = stand(about, "zhao2023", names, models, profile)
        return Measured(self._world(own, samples), null_worlds, about)

    def _world(self, won: list[Won], samples: list[SampleWeights]) -> MeansOfWorld[Cells]:
        """The cells of one world. won: of each task."""
        names = tuple(one.task for one in self.tasks)

        def cells(weights: list[np.ndarray]) -> Cells:
            by_task = [
                [means(w, v.reshape(len(v), -1)).reshape(len(w), *v.shape[1:]) for v in of_task]
                for of_task, w in zip(won, weights, strict=True)
            ]
            values, *of_curves = [np.stack(arrays, axis=1) for arrays in zip(*by_task, strict=True)]
            return Cells(values, names, self.methods, *of_curves)

        return make_world(samples, cells)

    def _null(self, kind: str, own: list[Won], rng: Rng) -> list[Won]:
        """What is won in one null world.

        scores: the rival and the methods change places at random in each text, as they may where
        all scores are random; methods: the methods alone. tasks: the rows of all tasks are dealt
        out anew, as many to each. Else two metrics change places in half of the texts.
        """
        if kind in ("scores", "methods"):
            fixed = 1 if kind == "methods" else 0  # the rival, which is last, keeps its place
            moved = len(self.methods) + 1 - fixed
            orders = [rng.random((len(one.values), moved)).argsort(axis=1) for one in self.tasks]
            whole = [np.pad(one, ((0, 0), (0, fixed)), constant_values=moved) for one in orders]
            return [one.won(order) for one, order in zip(self.tasks, whole, strict=True)]
        if kind == "tasks":
            ends = np.cumsum([len(one.values) for one in self.tasks])
            order = rng.permutation(ends[-1])
            pooled = [np.concatenate(arrays)[order] for arrays in zip(*own, strict=True)]
            return list(zip(*(np.split(array, ends[:-1]) for array in pooled), strict=True))
        swapped = []
        for won, *of_curves in own:
            flip = rng.random((len(won), 1, 1)) < 0.5
            swapped.append((np.where(flip, won[..., SWAPS[kind]], won), *of_curves))
        return swapped


def compare_tasks(
    pairs: pd.DataFrame,
    curves: pd.DataFrame | None,
    step: Step,
    settings: Sequence[str] = ("main",),
) -> Compared:
    """The values of the pairs, task by task.

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
        tables = [one for name in settings for one in _by_row(by_setting[name], methods, metrics)]
        rows = reduce(
            lambda left, right: left.intersection(right, sort=False), (one.index for one in tables)
        )
        if rows.empty:
            continue
        one = TaskValues(
            task,
            texts=tuple(rows.get_level_values("instance")),
            models=tuple(rows.get_level_values("model")),
            seeds=tuple(rows.get_level_values("seed")),
            values=np.stack([table.loc[rows] for table in tables], axis=-1),
            rules=[protocol_of(step.profile, task, name) for name in settings for _ in metrics],
            curves=_curves_of(curves, rows, methods),
        )
        out.append(one)
    enough = [one for one in out if len(set(one.texts)) >= LEAST_TEXTS]
    return Compared(enough or out, tuple(methods))


def _by_row(pairs: pd.DataFrame, methods: list[str], metrics: list[str]) -> Iterator[pd.DataFrame]:
    """Of each metric a table, a row a text and model: each method's value, and the rival's."""
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


def claim_findings(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Finding]:
    """By claim our number; a claim that this profile cannot test is left out."""
    compared = compare_tasks(pairs, curves, step)
    sizes = [f"{one.task} ({len(set(one.texts))} texts)" for one in compared.tasks]
    measured = compared.measured(step.profile, ", ".join(sizes))
    found = {}
    for claim, asked in STATEMENTS.items():
        try:
            found[claim] = measured.finding(asked)
        except CannotTell as why:
            found[claim] = untested(f"{why}")
    if lead := over_alternatives(step, pairs):
        found["dropout-over-alternatives"] = lead
    for name in found.keys() - set(OF_HARD_MEASURES):
        found[name] = replace(found[name], metric="normalised as we read it")
    return found


def over_alternatives(step: Step, pairs: pd.DataFrame) -> Finding | None:
    """By how much dropout's soft metrics lie above the best alternative's, the lesser of the two.

    All are measured on the same texts; None where there are no such texts.
    """
    kinds = ("noise_", "variance_", "attend")
    settings = [name for name in pairs.setting.unique() if name.startswith(kinds)]
    if not settings or "control" not in set(pairs.setting):
        return None
    compared = compare_tasks(pairs, None, step, ("control", *settings))
    if not compared.tasks:
        return None
    names = ", ".join(one.task for one in compared.tasks)
    basis = f"{len(settings)} alternatives on the same texts of {names}"
    asked = Statement(lead_of_the_first, "none", chosen=True)
    return compared.measured(step.profile, basis).finding(asked)


def faithfulness_claims(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """One row a claim of Zhao & Aletras 2023 with our value, its interval, nulls and a verdict."""
    claims = read_claims("zhao2023")
    sizes = count_texts(main_rows(pairs))
    small = sizes[sizes < LEAST_TEXTS]
    few = ", ".join(f"{task} has {texts} texts" for task, texts in small.items())
    nothing = untested(f"no task of {LEAST_TEXTS} texts or more tests it")
    found = dict.fromkeys((claim.id for claim in claims), nothing)
    found |= claim_findings(step, pairs, curves)
    for name, one in found.items():
        if one.reason and few:
            found[name] = untested(f"{one.reason}; {few}")
    return score(claims, found, step.profile.bootstrap.confidence, published_values())


def judge_claims(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> Judged:
    """The verdicts on the claims of Zhao & Aletras 2023, and what turns each."""
    judged = faithfulness_claims(step, pairs, curves)
    turn = turning(step, pairs, curves)
    return settle(read_claims("zhao2023"), judged, turn, step.profile.bootstrap.confidence)


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
    names = tuple(ours[name] for name in by_dataset)
    cells = Cells(np.array(values, dtype=float)[None], names, methods)
    found = {}
    for name, asked in STATEMENTS.items():
        given = (cells, cells) if asked.chosen else (cells,)
        with suppress(CannotTell):
            found[name] = asked.statistic(*given)[0]
    return found


def turning(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> Turning:
    """What a claim's statistic is when something is turned."""
    made = [
        (what, how, opened, compared.measured(step.profile, nulls=False))
        for what, how, opened, compared in _turned(step, pairs, curves)
        if compared.tasks
    ]

    def turn(claim: Claim) -> Iterator[Turn]:
        asked = STATEMENTS.get(claim.id)
        if asked is None:
            return
        for what, how, opened, measured in made:
            with suppress(CannotTell):
                yield Turn(what, how, measured.finding(asked), open=opened)

    return turn


def _turned(
    step: Step, pairs: pd.DataFrame, curves: pd.DataFrame
) -> Iterator[tuple[Turnable, str, bool, Compared]]:
    """What is turned, to what, whether it is an open rule, and the values then.

    Each task and model alone, and each rule of `settings.RULES` but that of the run, where all
    tasks know it by one name.
    """
    main = main_rows(pairs)
    by_task = each_alone(compared_rows(main), {"task": "corpus"})
    for what, how, part in chain(by_task, each_alone(main, {"model": "model"})):
        yield what, how, False, compare_tasks(part, curves, step)
    tasks = pairs.task.unique()
    own = {protocol_of(step.profile, task, "main").ties for task in tasks}
    for name, rule in RULES.items():
        settings = {rule_setting(step.profile, task, rule.setting) for task in tasks}
        if len(settings) == 1 and (settings, {rule.ties}) != ({"main"}, own):
            found = compare_tasks(pairs, None, step, tuple(settings))
            if rule.ties:
                changed = [
                    replace(one, rules=[replace(told, ties=rule.ties) for told in one.rules])
                    for one in found.tasks
                ]
                found = replace(found, tasks=changed)
            yield "protocol", rule.title.lower(), name in OPEN_RULES, found
