"""The crossed design: networks of several shapes and seeds before every judge.

What notebooks 02, 03, 04 and 08_joint do of one network each is done here of many, by the same
code, in parts that resume: a part trains a network, or explains and scores a few texts of one. The
networks of a task have the same rows of training, texts and methods, so that methods x judges x
models x seeds are crossed (`crossed` in a profile).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from attreval.core.records import Cost
from attreval.methods import METHODS
from attreval.methods.run import Explained, explain_instances
from attreval.metrics.pointing_game import BASELINES, play
from compendium.config import ModelSpec, Profile, Run
from compendium.papers.common.runs import RUN, borrowed_evidence, to_explain, with_evidence
from compendium.papers.common.sentences import sentence
from compendium.papers.common.tables import put_together, table_of
from compendium.papers.common.trained_models import open_run
from compendium.papers.joint.alike import compare_methods
from compendium.papers.joint.values import (
    COLUMNS,
    GAMES,
    JUDGES,
    Known,
    ask_of_run,
    family_of,
    judged,
    score_text,
    stored_scores,
)
from compendium.papers.pipeline.training import measure_accuracy, train_new
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

ALL = "all"
TEXTS = 20  # of one network, explained and scored together
SURE = 0.75  # of a cell's columns: where so many put one method before the other, the cell does


def make_design(step: Step) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Train, explain and score every network that learned its task.

    Returns (accuracies, scores as COLUMNS, how alike methods are as of `alike.compare_methods`).
    """
    given = step.profile.crossed_profile()
    place = Results(step.results.root / "crossed")
    models = list(given.models)

    def dearest_first(runs: Iterable[Run]) -> list[Run]:
        """As they stand in a profile: no process ends long after the others."""
        return sorted(runs, key=lambda run: models.index(run[1]))

    trained = [(place, given, run) for run in dearest_first(given.trained_runs())]
    made = pd.DataFrame(step.side_by_side(train_crossed, trained, "training", of_models=False))
    step.notes["devices"] = made.device.value_counts().to_dict()
    accuracy = with_same_networks(made, given).sort_values(RUN, kind="stable")
    accuracy = accuracy.reset_index(drop=True)
    learned = set(learned_networks(accuracy)[RUN].itertuples(index=False, name=None))
    jobs = []
    for run in dearest_first(given.explained_runs()):
        if (given.read_by(run[0]), *run[1:]) in learned:
            starts = range(0, given.rows_explained(*run[:2]), TEXTS)
            jobs += [(place, given, run, start) for start in starts]
    found = step.ask_side_by_side(score_network, jobs, "explaining and scoring", of_models=False)
    scored = [scores for scores, _ in found]
    compared = [alike for _, alike in found]
    scores = put_together([pd.DataFrame(columns=COLUMNS), *scored])
    return accuracy, scores, put_together([compare_methods((), ()), *compared])


def with_same_networks(accuracy: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """The accuracies also of models that are other models' networks, erased in another way."""
    frames = [accuracy]
    for task, spec in profile.tasks.items():
        for model in spec.models:
            of_other = (accuracy.task == task) & (accuracy.model == profile.models[model].same_as)
            frames.append(accuracy[of_other].assign(model=model))
    return pd.concat(frames)


def learned_networks(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Networks surely more accurate than the most frequent class; all where none is."""
    learned = accuracy[accuracy.accuracy_low > accuracy.majority]
    return learned if len(learned) else accuracy


def train_crossed(results: Results, profile: Profile, run: Run) -> dict[str, Any]:
    """Train one network, and test it: a row with its accuracy and where it ran."""
    set_threads(profile.threads)
    names = ("crossed", *run)
    network, train_rows, _ = train_new(profile, run, names, results.model(*run))
    tested = measure_accuracy(network, profile, run, names).row
    kept = ("test_rows", "accuracy", "accuracy_low", "majority", "macro_f1")
    about = dict(zip(RUN, run, strict=True)) | {"train_rows": train_rows}
    shape = {"layers": getattr(network, "layers", 1), "causal": getattr(network, "causal", False)}
    row = about | {name: tested[name] for name in kept} | shape
    return row | {"device": network.device.type}


def score_network(
    results: Results, profile: Profile, run: Run, start: int
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], dict[str, Cost]]:
    """What a network's explanations of a few texts score, and how alike methods are; costs."""
    spec = profile.explaining_of(run[0])
    scorer = open_run(results, profile, run)
    borrowed = borrowed_evidence(run[0])
    methods = [name for name in spec.methods if scorer.model.family in METHODS[name].families]
    of_tokens = [name for name in methods if METHODS[name].level == "token"]
    part = to_explain(profile, *run[:2])[start : start + TEXTS]
    names = ("crossed", *run)
    texts = []
    for one in explain_instances(scorer, part, methods, spec, names, spec.target, group=len(part)):
        instance = with_evidence(one.instance, borrowed)
        scores = stored_scores(one.attributions, of_tokens, one.tokens)
        target = one.attributions[of_tokens[0]].target
        known = _play_games(one, profile)
        texts.append(score_text(profile, run, instance, one.tokens, scores, target, known))
    found = (ask_of_run(scorer, run, texts, texts), compare_methods(run, texts))
    return found, scorer.costs


def _play_games(one: Explained, profile: Profile) -> Known:
    """The pointing game, which is won or not only by a text's own evidence."""
    own = one.instance.evidence
    if not (own.classes or own.tags):
        return {}
    ties = profile.pointing.ties
    rows = play(one.instance, one.tokens, one.predicted, one.attributions, ties)
    known = {}
    for row in rows:
        if row["metric"] in GAMES and row["method"] not in BASELINES[1:]:
            known["pointing", row["method"]] = row["hit"]
    return known


def network_means(values: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """As `correlations.mean_values`, one row a network; the intervals are normal."""
    known = values[values.value.notna()]
    by_network = known.groupby([*RUN, "method", "metric"], sort=False).value
    found = by_network.agg(mean="mean", std="std", n="size").reset_index()
    sd = found.pop("std").fillna(0)
    half = norm.ppf((1 + confidence) / 2) * sd / np.sqrt(found.n)
    return found.assign(granularity="tokens", low=found["mean"] - half, high=found["mean"] + half)


@table_of("family first second columns share cells before everywhere")
def pairs_table(means: pd.DataFrame, models: Mapping[str, ModelSpec]) -> Iterator[tuple]:
    """One row a pair of methods and family of networks, or all (ALL): which is better?

    means: of `network_means`. columns: a column is a task, network and metric of one of the papers;
    share: of them where the first is better, ties half; it is the one with the larger share. A cell
    is a task, family and paper; before: of so many `cells` those in at least SURE of whose columns
    the first is better; everywhere: whether all are.
    """
    column = [*RUN, "metric"]
    wide = judged(means).pivot(index=column, columns="method", values="mean").dropna(axis=1)
    about = wide.index.to_frame()
    about["family"] = about.model.map(lambda name: family_of(models[name]))
    about["judge"] = about.metric.map(JUDGES)
    cells = pd.MultiIndex.from_frame(about[["task", "family", "judge"]])
    for name in (*about.family.unique(), ALL):
        here = ((about.family == name) | (name == ALL)).to_numpy()
        part = wide[here]
        for first, second in combinations(part.columns, 2):
            signs = np.sign(part[first] - part[second])
            won = pd.Series((signs.to_numpy() + 1) / 2, index=cells[here])
            if won.mean() < 0.5:
                first, second = second, first
                won = 1 - won
            by_cell = won.groupby(level=[0, 1, 2]).mean()
            before = (by_cell >= SURE).sum()
            counts = (len(won), won.mean(), len(by_cell), before)
            yield name, first, second, *counts, before == len(by_cell)


def design_table(accuracy: pd.DataFrame, values: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """One row a task and model: seeds, range of accuracy, texts, methods, metrics."""
    run = ["task", "model"]
    seen = values[values.value.notna() & (values.method != "random")].groupby(run, sort=False)
    counts = seen[["instance", "method", "metric"]].nunique()
    counts.columns = ["texts", "methods", "metrics"]
    tested = learned_networks(accuracy).groupby(run)
    tested = tested.agg(
        seeds=("seed", "nunique"), lowest=("accuracy", "min"), highest=("accuracy", "max")
    )
    read = counts.reset_index().assign(trained_on=lambda table: table.task.map(profile.read_by))
    return read.merge(tested, how="left", left_on=["trained_on", "model"], right_index=True)


@sentence
def say_design(table: pd.DataFrame) -> str:
    """How many networks, how accurate, were asked about how many texts."""
    texts = f"{table.texts.max():.0f} texts of each of {table.task.nunique()} tasks"
    accuracy = f"{table.lowest.min():.2f} to {table.highest.max():.2f}"
    return f"{table.seeds.sum():.0f} networks explain {texts}; their accuracy is {accuracy}"


@sentence
def say_pairs(table: pd.DataFrame) -> str:
    """How many pairs of methods every cell orders alike, of each family and of all networks."""
    said = []
    for family, part in table.groupby("family", sort=False):
        where = "both families" if family == ALL else family
        pairs = f"{part.everywhere.sum()} of {len(part)}"
        said.append(f"{pairs} in all {part.cells.max()} cells of {where}")
    return f"pairs of methods with one order: {'; '.join(said)}"
