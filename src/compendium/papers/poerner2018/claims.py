"""Claims of Poerner et al. (2018), section 5: do some methods hit more often than others?

A cell is one task, model, game and kind of prediction: a column of Table 2 of Poerner et al.
(2018). In each cell one group of methods is set against another; the difference is averaged over
cells.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from typing import Literal

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from attreval.metrics.pointing_game import BASELINES
from compendium.config import BootstrapSpec
from compendium.config.sections import FAMILY
from compendium.papers.common.claims import (
    Claim,
    Judged,
    Turn,
    Turnable,
    Turning,
    each_alone,
    quick_draws,
    read_claims,
    score,
    settle,
)
from compendium.papers.common.contrasts import (
    ContrastCell,
    Difference,
    Over,
    Statistic,
    best_of,
    exchange_columns,
    mean_difference,
    mean_over_cells,
    share_of_cells,
)
from compendium.papers.common.runs import drop_unlearned, unlearned_table
from compendium.papers.common.verdicts import Expectation, Finding, untested
from compendium.papers.poerner2018.hits import PAIR, WordsInCommon, words_in_common
from compendium.papers.poerner2018.tables import NAMES, TASKS_OF, published_table_2
from compendium.workflow.step import Step

CONDITIONS_OF = {
    "hybrid": ("all",),
    "manual": ("all",),
    "hit_target": ("correct",),
    "hit_feat": ("correct", "wrong"),
}
# no sample of sentences as they are
CHOSEN_FOR_ATTRACTORS = ("agreement_linzen", "agreement_linzen_whole")
NOTHING = ("nothing",)  # that hits are set against
Pick = Literal["mean", "best", "worst column", "spread"]


@dataclass(frozen=True)
class MethodContrast:
    """One group of methods against another.

    better, worse: methods; an empty `worse` stands for all others except baselines, and `nothing`
    for the hits of `better` as they are. pick: how a group becomes one number. `worst column`: the
    share of comparisons of a method of `better` with one of `worse` that it wins, by how far each
    falls behind the best method in its worst column. `spread`: how much this varies over columns,
    its sd. count: the number is the share of columns in which the difference is above 0. games,
    architectures, tasks: which cells; None takes all except tasks that were chosen for their
    attractors. less_games: games whose difference is subtracted from that of the others.
    """

    better: tuple[str, ...]
    worse: tuple[str, ...] = ()
    pick: Pick = "mean"
    count: bool = False
    games: tuple[str, ...] | None = None
    architectures: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None
    less_games: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether the hits of `better` are taken as they are."""
        return self.worse == NOTHING


def groups(methods: Sequence[str], asked: MethodContrast) -> tuple[list[int], list[int]]:
    """Where the two groups of a contrast, `better` and `worse`, stand among the methods."""
    others = [n for n in methods if n not in asked.better and n not in BASELINES]
    better = [at for at, name in enumerate(methods) if name in asked.better]
    worse = [at for at, name in enumerate(methods) if name in (asked.worse or others)]
    return better, worse


@dataclass(frozen=True)
class Column:
    """A column of Table 2 on our data: (n, methods) hits, a row a text and seed.

    tied: (n, methods) words that share the top score. words: (n,) of a text.
    """

    task: str
    model: str
    architecture: str
    metric: str
    condition: str
    methods: tuple[str, ...]
    hits: np.ndarray
    tied: np.ndarray
    words: np.ndarray
    texts: tuple
    seeds: tuple

    def random_hits(self, worlds: int, rng: np.random.Generator) -> np.ndarray:
        """(j, n, methods) hits of each method's own scores in a random order, with as many ties.

        Baselines stay as they are; random's hit is the share of words that are evidence.
        """
        words = self.words[:, None]
        evidence = np.rint(self.hits[:, [self.methods.index("random")]] * words).astype(int)
        own = [at for at, method in enumerate(self.methods) if method not in BASELINES]
        tied = np.nan_to_num(self.tied[:, own], nan=1).astype(int)
        top = np.minimum(tied.clip(1), words)
        out = np.repeat(self.hits[None], worlds, axis=0)
        drawn = rng.hypergeometric(evidence, words - evidence, top, size=(worlds, *top.shape)) / top
        out[:, :, own] = np.where(np.isnan(self.hits[:, own]), np.nan, drawn)
        return out


def columns_of(hits: pd.DataFrame) -> list[Column]:
    """A column for each task, model, game and kind of prediction; discarded texts are left out."""
    rows = ["seed", "instance"]
    out = []
    kept = hits[hits.discarded == ""]
    for (task, model, metric), part in kept.groupby(["task", "model", "metric"], sort=False):
        wide = part.pivot_table(
            index=rows, columns="method", values=["hit", "tied"], aggfunc="mean", sort=False
        )
        about = part.drop_duplicates(rows).set_index(rows).reindex(wide.index)
        right = about.correct.to_numpy(bool)
        chosen_by = {"all": np.ones(len(about), bool), "correct": right, "wrong": ~right}
        for condition in CONDITIONS_OF[metric]:
            chosen = chosen_by[condition]
            there = wide.index[chosen]
            column = Column(
                task,
                model,
                architecture=part.architecture.iloc[0],
                metric=metric,
                condition=condition,
                methods=tuple(wide["hit"].columns),
                hits=wide["hit"].to_numpy()[chosen],
                tied=wide["tied"].to_numpy()[chosen],
                words=about.words.to_numpy(dtype=int)[chosen],
                texts=tuple(there.get_level_values("instance")),
                seeds=tuple(there.get_level_values("seed")),
            )
            if chosen.any():
                out.append(column)
    return out


def contrast_methods(
    columns: Sequence[Column], asked: MethodContrast, settings: BootstrapSpec
) -> Difference | None:
    """The difference that a contrast asks for; None where no column has both of its groups."""
    chosen = columns_asked(columns, asked)
    if asked.tasks is None:
        chosen = [one for one in chosen if one.task not in CHOSEN_FOR_ATTRACTORS]
    cells, over = make_cells(chosen, asked)
    return mean_difference(cells, settings, over)


def make_cells(chosen: Sequence[Column], asked: MethodContrast) -> tuple[list[ContrastCell], Over]:
    """A cell for each column that has both groups, and what is made of all of them."""
    every = dict.fromkeys(name for one in chosen for name in one.methods)
    names = [name for name in every if name not in BASELINES]
    cells = []
    for one in chosen:
        better, worse = groups(one.methods, asked)
        if not better or not (worse or asked.alone):
            continue
        compared = [
            at for at, n in enumerate(one.methods) if n not in BASELINES or n in asked.worse
        ]
        cell = ContrastCell(
            one.task,
            one.model,
            one.hits,
            one.texts,
            one.seeds,
            statistic=_statistic(one.methods, names, asked),
            chosen=asked.pick != "mean",
            by_scores=None if asked.alone else one.random_hits,
            by_names=None if asked.alone else partial(exchange_columns, one.hits, at=compared),
            part=one.metric,
        )
        cells.append(cell)
    return cells, _over_cells(names, asked)


def columns_asked(columns: Iterable[Column], asked: MethodContrast) -> list[Column]:
    """Those that a contrast names."""
    games = None if asked.games is None else asked.games + asked.less_games
    return [
        one
        for one in columns
        if (asked.tasks is None or one.task in asked.tasks)
        and (asked.architectures is None or one.architecture in asked.architectures)
        and (games is None or one.metric in games)
    ]


def _statistic(methods: Sequence[str], names: list[str], asked: MethodContrast) -> Statistic:
    """What is asked of a cell: one group's lead, or how far each method is behind the best."""
    better, worse = groups(methods, asked)

    def mean(read: np.ndarray) -> np.ndarray:
        others = read[:, worse].mean(axis=1) if worse else 0
        return read[:, better].mean(axis=1) - others

    def best(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
        return best_of(fit[:, better], read[:, better]) - best_of(fit[:, worse], read[:, worse])

    def behind(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
        own = [at for at, name in enumerate(methods) if name not in BASELINES]
        places = [names.index(methods[at]) for at in own]
        out = np.full((len(read), len(names)), np.nan)
        out[:, places] = read[:, own] - best_of(fit[:, own], read[:, own])[:, None]
        return out

    if asked.pick == "mean":
        return mean
    return best if asked.pick == "best" else behind


def _over_cells(names: list[str], asked: MethodContrast) -> Over:
    """What is made of all cells: of (cells, b) leads, or (cells, b, names) distances, (b,)."""
    better, worse = groups(names, asked)

    def comparisons_won(behind: np.ndarray, _: list[ContrastCell]) -> np.ndarray:
        """The share of comparisons that `better` wins in the worst column; a tie is half a win."""
        worst = np.where(np.isnan(behind), np.inf, behind).min(axis=0)
        lead = worst[:, better, None] - worst[:, None, worse]
        return ((lead > 0) + 0.5 * (lead == 0)).mean(axis=(1, 2))

    def spread_lead(behind: np.ndarray, _: list[ContrastCell]) -> np.ndarray:
        """The sd over columns of how far `better` is behind, less that of the others."""
        spread = np.nanstd(behind, axis=0)
        return spread[:, better].mean(axis=1) - spread[:, worse].mean(axis=1)

    def less_games(drawn: np.ndarray, cells: list[ContrastCell]) -> np.ndarray:
        """The mean over cells minus that over the cells of `less_games`; NaN without either."""
        taken_off = np.array([cell.part in asked.less_games for cell in cells])
        if taken_off.all() or not taken_off.any():
            return np.full(drawn.shape[1], np.nan)
        return drawn[~taken_off].mean(axis=0) - drawn[taken_off].mean(axis=0)

    if asked.pick == "worst column":
        return comparisons_won
    if asked.pick == "spread":
        return spread_lead
    if asked.less_games:
        return less_games
    return share_of_cells if asked.count else mean_over_cells


TURNED: dict[str, Turnable] = {"task": "corpus", "architecture": "model", "metric": "metric"}
SAME_WORD = "lrp-is-gradient-on-cnn"
GAMES = {
    "hybrid": "hybrid documents",
    "manual": "the manual benchmark",
    "hit_target": "the subject",
    "hit_feat": "a word of the subject's number",
}


def pointing_claims(
    step: Step, hits: pd.DataFrame, common: Iterable[WordsInCommon] | None = None
) -> pd.DataFrame:
    """One row a claim of Poerner et al. (2018) with our value, interval, nulls and a verdict.

    hits: of models that have learned their task.
    """
    claims = read_claims("poerner2018")
    columns = columns_of(hits)
    asked = [claim for claim in claims if claim.contrast and not claim.why_not]
    found = {claim.id: claim_value(claim, columns, step) for claim in asked}
    found[SAME_WORD] = same_word(step, words_in_common(step) if common is None else common)
    published = {claim.id: value for claim in asked if np.isfinite(value := published_value(claim))}
    return score(claims, found, step.profile.bootstrap.confidence, published)


def claim_value(claim: Claim, columns: Sequence[Column], step: Step) -> Finding:
    """Our value of a claim that is a contrast of methods."""
    asked = claim.ask(MethodContrast)
    found = contrast_methods(columns, asked, step.profile.bootstrap)
    if found is None or np.isnan(found.finding.value):
        return untested("no task, model or method of this profile tests it")
    positive = (
        "" if asked.pick in ("worst column", "spread") else f"positive in {found.positive} of "
    )
    return found.finding_for("poerner2018", step.profile, f"{positive}{found.cells} columns")


def same_word(step: Step, common: Iterable[WordsInCommon]) -> Finding:
    """The share of texts in which LRP and Gradient x Input point at one word, mean over CNNs.

    By random scores two methods meet at one word of all; by exchanged names it is any two methods
    that are asked.
    """
    cells = []
    for (task, model, seed), of_run in groupby(common, key=lambda one: one.run):
        found = list(of_run)
        methods = found[0].methods
        if not set(PAIR) <= set(methods):
            continue
        first, second = map(methods.index, PAIR)
        shares = np.array([one.shares for one in found])
        pairs = shares[:, *np.triu_indices(len(methods), 1)]
        values = np.column_stack([shares[:, first, second], pairs])  # (n, 1 + pairs of methods)
        words = np.array([one.words for one in found])
        cell = ContrastCell(
            task,
            model,
            values,
            texts=[one.instance for one in found],
            seeds=[seed] * len(found),
            statistic=lambda read: read[:, 0],
            by_scores=partial(_by_random_scores, words=words, width=values.shape[1]),
            by_names=partial(exchange_columns, values),
        )
        cells.append(cell)
    difference = mean_difference(cells, step.profile.bootstrap)
    if difference is None:
        return untested("no run of a CNN has both methods")
    basis = f"{difference.cells} runs of the CNN"
    return difference.finding_for("poerner2018", step.profile, basis)


def _by_random_scores(
    worlds: int, rng: np.random.Generator, words: np.ndarray, width: int
) -> np.ndarray:
    """(j, n, width) whether two random words of a text are the same."""
    met = rng.random((worlds, len(words))) < 1 / words
    return np.repeat(met[..., None], width, axis=2).astype(float)


@cache
def _published_columns() -> list[Column]:
    """The columns of Table 2, with the methods whose hits were surely read of them."""
    cells = published_table_2()
    sure = cells[cells.confidence.isin(["H", "M"]) & cells.published.notna()]
    sure = sure.assign(method=sure.method.replace(NAMES))
    keys = ["experiment", "architecture", "metric", "condition"]
    out = []
    for (experiment, architecture, metric, condition), part in sure.groupby(keys, sort=False):
        hits = part.published.to_numpy(float)[None]
        column = Column(
            TASKS_OF[experiment][0],
            architecture,
            architecture,
            metric,
            condition,
            tuple(part.method),
            hits,
            tied=np.ones_like(hits),
            words=np.ones(1, int),
            texts=("published",),
            seeds=(0,),
        )
        out.append(column)
    return out


def published_value(claim: Claim) -> float:
    """The claim's number from what was surely read of Table 2; NaN where that does not decide it.

    A claim on all other methods counts only columns in which every method that applies to the
    architecture was read.
    """
    asked = claim.ask(MethodContrast)

    def whole(column: Column) -> bool:
        family = FAMILY[column.architecture.lower()]
        others = [n for n in NAMES.values() if family in METHODS[n].families]
        against = () if asked.alone else asked.worse or others
        return {*asked.better, *against} <= set(column.methods)

    read = [one for one in columns_asked(_published_columns(), asked) if whole(one)]
    cells, over = make_cells(read, asked)
    if not cells:
        return np.nan
    return over(np.stack([cell.as_printed() for cell in cells]), cells)[0]


Number = Callable[[MethodContrast, Sequence[Column]], Finding | None]


def judge_claims(
    step: Step,
    hits: pd.DataFrame,
    otherwise: pd.DataFrame,
    common: Iterable[WordsInCommon] | None = None,
) -> Judged:
    """The verdicts on the claims of Poerner et al. (2018), and what turns each.

    otherwise: of `hits.hits_by_open_rules`.
    """
    unlearned = unlearned_table(step, step.profile.explained_runs("pointing"))
    hits, otherwise = (drop_unlearned(table, unlearned) for table in (hits, otherwise))
    judged = pointing_claims(step, hits, common)
    turn = turning(step, hits, otherwise)
    return settle(read_claims("poerner2018"), judged, turn, step.profile.bootstrap.confidence)


def turning(step: Step, hits: pd.DataFrame, otherwise: pd.DataFrame) -> Turning:
    """What a claim's contrast is when something is turned."""
    columns = columns_of(hits)
    by_rule = {
        rule: columns_of(pd.concat([hits[~hits.task.isin(part.task)], part]))
        for rule, part in otherwise.groupby("rule", sort=False)
    }
    settings = quick_draws(step.profile.bootstrap)

    def number(asked: MethodContrast, some: Sequence[Column]) -> Finding | None:
        found = contrast_methods(some, asked, settings)
        return None if found is None else found.finding

    def turn(claim: Claim) -> Iterator[Turn]:
        if claim.contrast:
            yield from turns(claim, columns, number)
            for rule, played in by_rule.items():
                found = number(claim.ask(MethodContrast), played)
                yield Turn("protocol", rule, found, open=True)

    return turn


def turns(claim: Claim, columns: Sequence[Column], number: Number) -> Iterator[Turn]:
    """A contrast on each task, architecture and game alone; and the mean in place of the worst."""
    asked = claim.ask(MethodContrast)
    chosen = columns_asked(columns, asked)
    rows = pd.DataFrame([(c.task, c.architecture, c.metric) for c in chosen], columns=list(TURNED))
    rows = rows.assign(metric=rows.metric.replace(GAMES), column=chosen)
    turned = TURNED if not asked.less_games else {k: v for k, v in TURNED.items() if k != "metric"}
    for what, how, part in each_alone(rows, turned):
        # a task is named, so that those chosen for attractors take part too
        named = replace(asked, tasks=tuple(part.task)) if what == "corpus" else asked
        yield Turn(what, how, number(named, list(part.column)))
    if asked.pick == "worst column":
        expect = Expectation(above=0) if claim.expect.below is None else Expectation(below=0)
        how = "mean lead over the others, all columns"
        yield Turn("metric", how, number(replace(asked, pick="mean"), columns), expect)
