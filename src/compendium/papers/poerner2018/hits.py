"""The pointing game of Poerner et al. (2018): how often each method's highest word is evidence.

How much hits depend on choices in which the paper's text, its code and this study differ: ties,
affixes, the sampling and the solver of LIMSSE, and the output gate of decomposition. And do two
methods point at the same word? Equal hits do not tell: LRP and gradient x input, the same where
activations are linear (section 3.2), could hit different words.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd

from attreval.core.alignment import overlap_shares
from attreval.core.tables import read_by_instance
from attreval.methods import METHODS
from attreval.metrics import pointing_game
from attreval.metrics.pointing_game import BASELINES, Affix, Ties
from compendium.config import PointingSpec, Profile, Run
from compendium.corpora import TASKS
from compendium.papers.common import runs
from compendium.papers.common.runs import Records, reported
from compendium.papers.common.tables import mean_low_high, spell, table_of
from compendium.papers.poerner2018.accuracy import accuracy_by_attractors, summarise_hits
from compendium.papers.poerner2018.other_choices import other_choices, tried_run
from compendium.papers.poerner2018.tables import BLOCKS, TASKS_OF
from compendium.workflow.step import Step

# the weak methods of the paper
NORMS = [name for name, one in METHODS.items() if one.kind == "gradient" and not one.signed]
# of what is no better than chance
KEPT = spell("task model method accuracy low high random instances")


def pointing_hits(step: Step) -> pd.DataFrame:
    """One row per task, model, seed, instance, game and method.

    See `metrics.pointing_game.play`.
    """
    predictions = read_predictions(step)
    out = []
    for run in runs.one_by_one(step, "pointing", step.profile.explained_runs("pointing")):
        out += play_run(step, run, predictions, step.profile.pointing)
    return pd.DataFrame(out)


def play_run(
    step: Step, run: Run, predictions: pd.Series, spec: PointingSpec, records: Records | None = None
) -> list[dict]:
    """The rows of one run by the rules of `spec`.

    Of the texts that other records explain, where they are given.
    """
    profile = step.profile
    task, model, seed = run
    records = runs.load_attributions(step.results, profile, *run) if records is None else records
    tokens = runs.load_tokens(step.results, profile, *run)
    methods = runs.common_methods(records)
    rules = (spec.ties, affix_of(spec, task), run)
    known = {
        "task": task,
        "model": model,
        "architecture": architecture_names(profile, task)[model],
        "seed": seed,
    }
    out = []
    for instance in runs.to_explain(profile, task, model):
        if instance.id in records:
            predicted = int(predictions[*run, instance.id])
            shown = {name: records[instance.id][name] for name in methods}
            played = pointing_game.play(instance, tokens[instance.id], predicted, shown, *rules)
            out += [known | row for row in played]
    return out


def affix_of(spec: PointingSpec, task: str) -> pointing_game.Affix | None:
    """How the words of a task's lists are matched.

    None where people marked the texts: every person's marks count.
    """
    return spec.affix if TASKS[task].mark_rules else None


def architecture_names(profile: Profile, task: str) -> dict[str, str]:
    """What tables call a task's models: the architecture where that tells them apart."""
    kinds = {}
    for name in profile.tasks[task].models:
        kind = profile.models[name].architecture
        kinds[name] = name if kind == "transformer" else str(kind)
    every = list(kinds.values())
    return {
        name: (kind if every.count(kind) == 1 else name).upper() for name, kind in kinds.items()
    }


def read_predictions(step: Step) -> pd.Series:
    """The predicted class of every explained instance, by task, model, seed and instance."""
    table = runs.read_shards(step, "instances", step.profile.explained_runs("pointing"))
    return table.set_index([*runs.RUN, "instance"]).predicted


def pointing_accuracy(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """Pointing accuracy with its interval; see `summarise_hits`."""
    return summarise_hits(hits, step.profile.bootstrap)


def attractor_table(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """Pointing accuracy by number of attractors, for the largest agreement task.

    Empty where there is none.
    """
    asked = hits[hits.attractors.notna()]
    largest = asked.drop_duplicates(["task", "instance"]).task.value_counts()
    chosen = asked[asked.task == largest.index[0]] if len(largest) else asked
    return accuracy_by_attractors(chosen, step.profile.bootstrap)


def no_better_than_random(summary: pd.DataFrame) -> pd.DataFrame:
    """One row per task, model and method that is not surely better than a random word.

    That is whose interval on hybrid documents reaches down to a random word's accuracy.

    Gradient norms are left out: they do not tell evidence for a class from evidence against it.
    """
    hybrid = summary[summary.metric == "hybrid"]
    chance = hybrid[hybrid.method == "random"].set_index(["task", "model"]).accuracy
    rest = hybrid[~hybrid.method.isin([*NORMS, *BASELINES])]
    rest = rest.join(chance.rename("random"), on=["task", "model"])
    return rest[rest.low <= rest.random][KEPT].reset_index(drop=True)


@table_of(
    "block task instances discarded right random last norms best_method best cells beat_random "
    "exceptions"
)
def block_table(summary: pd.DataFrame) -> Iterator[dict]:
    """One row per block that the text discusses, empty where the profile has no task of it.

    discarded, right: shares, means over models. random, last, norms (mean of gradient norms), best:
    mean hits over models. cells: methods (no norm, no baseline) that are compared with chance on
    hybrid documents, over all of the block's tasks and models; exceptions: those of
    `no_better_than_random`; beat_random: the others.
    """
    exceptions = no_better_than_random(summary)
    tested = summary[(summary.metric == "hybrid") & ~summary.method.isin([*NORMS, *BASELINES])]
    for name, block in BLOCKS.items():
        task, part = block.task(summary)
        cells = tested.task.isin(block.tasks).sum()
        below = exceptions.task.isin(block.tasks).sum()
        row = {
            "block": name,
            "task": task,
            "cells": cells,
            "beat_random": cells - below,
            "exceptions": below,
        }
        if task:
            row |= part.drop_duplicates("model")[["discarded", "right"]].mean()
            row["instances"] = part.instances.max()
            means = part.groupby("method", sort=False).accuracy.mean()
            row |= {
                "random": means.get("random"),
                "last": means.get("last"),
                "norms": means.reindex(NORMS).mean(),
            }
            explained = means.drop(list(BASELINES), errors="ignore")
            if len(explained):
                row |= {"best_method": explained.idxmax(), "best": explained.max()}
        yield row


@table_of(
    "task experiment trained_on model architecture accuracy published ours_less_published "
    "discarded published_low published_high"
)
def accuracy_beside_published(step: Step, summary: pd.DataFrame) -> Iterator[tuple]:
    """One row per explained task and model: accuracy and discarded texts, ours and theirs.

    accuracy: of the trained model on its own test split, mean over seeds; discarded: of the
        explained texts.
    published_low, published_high: the published range of discards, over models. NaN where the paper
        has no such cell.
    summary: of hits.pointing_accuracy.
    """
    profile = step.profile
    accuracy = reported("poerner_task_accuracy").set_index("task")
    discards = reported("poerner_discards").set_index("experiment")
    experiments = {task: name for name, tasks in TASKS_OF.items() for task in tasks}
    for task, model in dict.fromkeys(run[:2] for run in profile.explained_runs("pointing")):
        if task not in experiments:
            continue
        experiment = experiments[task]
        architecture = architecture_names(profile, task)[model]
        seeds = profile.task_of(task, model).seeds
        own = np.mean([runs.read_accuracy(step, task, model, s).accuracy for s in seeds])
        corpus = experiment.removesuffix(" hybrid").removesuffix(" manual").replace(" ", "_")
        theirs = accuracy.loc[corpus].get(architecture, np.nan)
        part = summary[
            (summary.task == task) & (summary.model == model) & (summary.condition == "all")
        ]
        discarded = (
            part.discarded.mean(),
            *discards.reindex([experiment])[["low", "high"]].iloc[0],
        )
        yield (
            task,
            experiment,
            profile.read_by(task),
            model,
            architecture,
            own,
            theirs,
            own - theirs,
            *discarded,
        )


KEYS = spell("task model seed instance metric method")


class Otherwise(NamedTuple):
    """Hits by another `value` of a choice than the profile's `own`; on: which texts."""

    choice: str
    value: object
    own: object
    rows: list[dict]
    on: str


@table_of("choice value instead_of game texts methods change largest method moved on")
def moved_hits_table(step: Step, hits: pd.DataFrame) -> Iterator[dict]:
    """One row per choice, other value and game: how much it changes the share of hits.

    change: mean over methods and models. largest: of one method, over models. moved: share of the
    explanations whose expected hit changes. on: whether all stored scores were looked at, or a few
    texts explained again. hits: of pointing_hits.
    """
    columns = [*KEYS, "hit", "discarded"]
    every = step.profile.explained_runs("pointing")
    others = chain(
        _judged_otherwise(step, "ties", get_args(Ties), every),
        _by_affix(step, hits),
        _explained_otherwise(step),
    )
    for other in others:
        about = {"choice": other.choice, "value": other.value, "instead_of": other.own}
        if not other.rows:
            nothing = {"game": "manual", "texts": 0, "methods": 0, "method": ""}
            yield about | nothing | {"on": "no task of this profile is judged so"}
            continue
        both = hits[columns].merge(
            pd.DataFrame(other.rows)[columns], on=KEYS, suffixes=("", "_other")
        )
        both = both[
            (both.discarded == "") & (both.discarded_other == "") & ~both.method.isin(BASELINES)
        ]
        for game, part in both.groupby("metric", sort=False):
            if other.choice == "affix" and game != "manual":
                continue
            change = part.hit_other - part.hit
            by_method = change.groupby(part.method).mean()
            most = by_method.abs().idxmax()
            yield about | {
                "game": game,
                "texts": len(part.drop_duplicates(["task", "instance"])),
                "methods": len(by_method),
                "change": change.mean(),
                "largest": by_method[most],
                "method": most,
                "moved": (change.abs() > 1e-12).mean(),
                "on": other.on,
            }


def hits_by_open_rules(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """Hits by each `rule` that text and code leave open, of the tasks that it moves.

    Which words of a text a person's list names. hits: of pointing_hits.
    """
    rows = []
    for other in _by_affix(step, hits):
        rule = f"words of the manual lists by their affix, {other.value}"
        rows += [row | {"rule": rule} for row in other.rows]
    return pd.DataFrame(rows, columns=[*hits, "rule"])


def _by_affix(step: Step, hits: pd.DataFrame) -> Iterator[Otherwise]:
    """The other rules for affixes, on the runs of which people listed the words."""
    manual = {
        task for task in hits[hits.metric == "manual"].task.unique() if TASKS[task].mark_rules
    }
    listed = [run for run in step.profile.explained_runs("pointing") if run[0] in manual]
    return _judged_otherwise(step, "affix", get_args(Affix), listed)


def _judged_otherwise(
    step: Step, choice: str, values: Iterable[str], asked: Iterable[Run]
) -> Iterator[Otherwise]:
    """Of a choice that needs no model: runs are played again by the other rules."""
    spec = step.profile.pointing
    predictions = read_predictions(step)
    own = getattr(spec, choice)
    for value in values:
        if value != own:
            other = spec.changed(**{choice: value})
            rows = [row for run in asked for row in play_run(step, run, predictions, other)]
            yield Otherwise(choice, value, own, rows, "all stored scores")


def _explained_otherwise(step: Step) -> Iterator[Otherwise]:
    """Of the choices for which notebook 03 has explained a few texts again."""
    run = tried_run(step.profile)
    if run is None:
        return
    predictions = read_predictions(step)
    budget = step.profile.explaining_of(run[0])
    for choice in other_choices(budget):
        path = step.results.attributions(*run, choice.part)
        if path.exists():
            records = read_by_instance(path)
            rows = play_run(step, run, predictions, step.profile.pointing, records)
            on = f"{len(records)} texts of {run[1]}, {run[0]}"
            yield Otherwise(choice.field, choice.value, getattr(budget, choice.field), rows, on)


PAIR = ("lrp", "gradient_x_input")


class WordsInCommon(NamedTuple):
    """Of one text of `words` words: the (m, m) chances that two methods point at the same word."""

    run: Run
    instance: str
    methods: list[str]
    shares: np.ndarray
    words: int


def words_in_common(step: Step) -> Iterator[WordsInCommon]:
    """Of each text that a CNN reads.

    Equal highest words share the chance, and each method breaks its ties alone.
    """
    for run in step.profile.explained_runs("pointing"):
        task, model, _ = run
        if architecture_names(step.profile, task)[model] != "CNN":
            continue
        records = runs.load_attributions(step.results, step.profile, *run)
        tokens = runs.load_tokens(step.results, step.profile, *run)
        methods = [name for name in runs.common_methods(records) if name not in BASELINES]
        for instance in runs.to_explain(step.profile, task, model):
            shares = overlap_shares(tokens[instance.id].offsets, instance.words)
            covered = shares.any(axis=0)
            pointed = []
            for record in (records[instance.id][name] for name in methods):
                # a word's is the sum of its tokens'
                scores = (shares.T @ record.on_tokens(len(shares)))[covered]
                highest = scores == scores.max()
                pointed.append(highest / highest.sum())
            chances = np.array(pointed).reshape(len(methods), -1)
            yield WordsInCommon(run, instance.id, methods, chances @ chances.T, chances.shape[1])


@table_of("task model seed instance methods shares words")
def common_table(common: Iterable[WordsInCommon]) -> Iterator[tuple]:
    """One row a text of `words_in_common`, as it is kept; see `read_common`."""
    for one in common:
        yield *one.run, one.instance, one.methods, [*one.shares], one.words


def read_common(kept: pd.DataFrame) -> Iterator[WordsInCommon]:
    """The texts of a `common_table` that was kept."""
    for row in kept.itertuples(index=False):
        shares = np.stack(row.shares)
        yield WordsInCommon(row[:3], row.instance, [*row.methods], shares, row.words)


@table_of("task model seed share low high instances")
def same_word_share(step: Step) -> Iterator[tuple]:
    """One row per run of the CNN: in which share of texts these two point at the same word."""
    for run, texts in groupby(words_in_common(step), key=lambda one: one.run):
        same = [
            one.shares[*map(one.methods.index, PAIR)]
            for one in texts
            if set(PAIR) <= set(one.methods)
        ]
        if same:
            found = mean_low_high(same, step.profile.bootstrap, "same word", *run)
            yield *run, *found, len(same)
