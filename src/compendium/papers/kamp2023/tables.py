"""The tables of Kamp et al. (2023), their data and models, and what people marked.

Do methods put forward what people marked (section 3 and Figure 2b), and does a profile predict how
much?
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attreval.core.seeds import generator
from attreval.core.tables import read_about
from attreval.core.units import true_runs
from attreval.methods import methods_in
from attreval.metrics.agreement import agreement_of, draw_top_k
from attreval.metrics.dynamic_k import CHOICES, quarter
from attreval.metrics.phrases import find_phrases, phrase_f1, phrase_tokens
from attreval.metrics.scored_text import majority, overlap, relevance, spaced_marks, token_marks
from compendium import corpora
from compendium.config import Run
from compendium.papers.common.runs import load_tokens, marked_corpus, read_accuracy, reported
from compendium.papers.common.tables import spell, table_of
from compendium.papers.kamp2023.readings import (
    PEOPLE,
    VotedText,
    by_k,
    by_run,
    marked,
    mean_with_interval,
    read_runs,
    voters,
)
from compendium.workflow.step import Step


def by_our_names(name: str) -> pd.DataFrame:
    """A published table of methods, with the names that they have here."""
    return reported(name).assign(method=lambda table: table.method.map(methods_in("kamp2023")))


def table_1(improvement: pd.DataFrame) -> pd.DataFrame:
    """Table 1, what dynamic k adds: a row a task and method, mean over runs, and the published."""
    theirs = improvement.dropna(subset="published").drop_duplicates(["method", "k"])
    theirs = theirs.assign(task="published", improvement=theirs.published)
    both = pd.concat([improvement, theirs])
    wide = both.pivot_table(index=["task", "method"], columns="k", values="improvement", sort=False)
    return wide.sort_index(axis=1).add_prefix("k").rename_axis(columns=None).reset_index()


def with_published_improvement(improvement: pd.DataFrame) -> pd.DataFrame:
    """Our improvements with those of Table 1, which prints the two methods that improve."""
    theirs = by_our_names("kamp_table1").rename(columns={"improvement_over_fixed_k": "published"})
    return improvement.merge(theirs[["method", "k", "published"]], on=["method", "k"], how="left")


def with_published_k(dynamic_k: pd.DataFrame) -> pd.DataFrame:
    """Our mean dynamic k with that of the released code for the same method."""
    names = {"method": "voter", "mean_dynamic_k": "published_k", "sd": "published_sd"}
    theirs = by_our_names("kamp_dynamic_k_means").rename(columns=names)[list(names.values())]
    return dynamic_k.merge(theirs, on="voter", how="left")


def table_2(apd: pd.DataFrame) -> pd.DataFrame:
    """Table 2, average pairwise difference of runs beside the published.

    By rank, since runs have no counterparts.
    """
    ours = apd.sort_values(["task", "model", "apd"])
    ours = ours.assign(rank=ours.groupby(["task", "model"]).cumcount() + 1)
    theirs = reported("kamp_table2_apd")[["run", "apd"]].sort_values("apd")
    theirs = theirs.add_prefix("published_").assign(rank=range(1, len(theirs) + 1))
    return ours.merge(theirs, on="rank", how="left")


TASK = "esnli"
TITLES = {
    "train_rows_raw": "training pairs, as distributed",
    "train_rows_after_drop": "training pairs used",
    "dev_rows": "dev pairs",
    "test_rows": "test pairs",
    "words_min": "words of a pair, least",
    "words_max": "words of a pair, most",
    "words_mean": "words of a pair, mean",
    "max_len_subtokens": "tokens that the model reads at most",
    "highlighted_tokens_train_mean": "words highlighted in a training pair, mean",
    "highlighted_tokens_train_sd": "words highlighted in a training pair, sd",
    "macro_f1_dev": "macro F1, dev",
    "macro_f1_test": "macro F1, test",
}
ELSEWHERE = "its training pairs are not read"
NO_TASK = "e-SNLI is not in this profile"


def dataset_table(step: Step) -> pd.DataFrame:
    """One row a published quantity that no other table has: published, ours, or why not.

    Ours: sizes and lengths of all of dev and test, words parted by white space; training pairs and
    F1 of the models that read e-SNLI here (mean over runs), which are trained on SNLI. Columns
    quantity, title, published, source, ours, reason; ours has three decimals.
    """
    runs = [run for run in step.profile.explained_runs("agreement") if run[0] == TASK]
    table = reported("kamp_dataset_stats").rename(columns={"value": "published"})
    table = table[table.quantity.isin(TITLES)].reset_index(drop=True)
    ours = table.quantity.map(_measure(step, runs) if runs else {}).astype(float).round(3)
    reason = np.where(ours.notna(), "", ELSEWHERE if runs else NO_TASK)
    table = table.assign(title=table.quantity.map(TITLES), ours=ours, reason=reason)
    return table[spell("quantity title published source ours reason")]


def _measure(step: Step, runs: list[Run]) -> dict[str, float]:
    dev = corpora.load_task(TASK, "dev")
    test = corpora.load_task(TASK, "test")
    words = [len(" ".join(one.segments).split()) for one in (*dev, *test)]
    trained = [read_accuracy(step, *run) for run in runs]
    return {
        "dev_rows": len(dev),
        "test_rows": len(test),
        "words_min": min(words),
        "words_max": max(words),
        "words_mean": np.mean(words),
        "max_len_subtokens": max(step.profile.models[model].max_length for _, model, _ in runs),
        "train_rows_after_drop": np.mean([one.train_rows for one in trained]),
        "macro_f1_test": np.mean([one.macro_f1 for one in trained]),
    }


QUANTITIES = {
    f"highlighted_tokens_annotator{person}_devtest": f"words_{person}" for person in (1, 2, 3)
}
# of the released code, by the names that they have here
QUANTITIES |= {
    "annotator_mean_IoU": "words_shared_by_all",
    "annotator_intersection_over_min": "words_shared_over_least",
}
FEW = 5  # people who are named one by one
NONE = "none"  # the method of a rule that looks at no scores


@by_run("method k agreement low high instances unmarked")
def human_agreement_table(step: Step, run: Run, every: Sequence[VotedText]) -> Iterator[tuple]:
    """One row a run, method and k: mean agreement@k with people (Kamp et al. 2023, Fig. 2b).

    Random as the floor.

    unmarked: instances left out because nobody marked a word of them that the model reads.
    """
    readings = marked(every)
    for method in [*voters(readings), *voters(readings, ("random",))] if readings else ():
        for row in by_k(step, run, readings, (method, PEOPLE)):
            yield method, *row, len(every) - len(readings)


def annotation_table(step: Step) -> pd.DataFrame:
    """One row a task and quantity: how much each person marks and how far all agree.

    words are parted by white space, as the annotators saw them; tokens are the model's. Dropped
    rows are those whose marks did not fit their text. published: what the released code of Kamp et
    al. (2023) notes of e-SNLI.
    """
    theirs = reported("kamp_dataset_stats").rename(columns={"value": "published"})
    theirs = theirs.assign(task=TASK, quantity=theirs.quantity.map(QUANTITIES))
    return _ours(step).merge(theirs.drop(columns="source"), on=["task", "quantity"], how="left")


@table_of("task quantity value")
def _ours(step: Step) -> Iterator[tuple]:
    """What `annotation_table` says of our corpora."""
    for task in dict.fromkeys(run[0] for run, readings in read_runs(step) if marked(readings)):
        run = next(run for run in step.profile.explained_runs("agreement") if run[0] == task)
        tokens = load_tokens(step.results, step.profile, *run, part="marked")
        instances = marked_corpus(task)
        marks = {
            "words": [spaced_marks(i) for i in instances],
            "tokens": [token_marks(i, tokens[i.id]) for i in instances],
        }
        dropped = read_about(corpora.table_path(task))["dropped"]
        yield task, "instances", len(instances)
        unfit = [count for reason, count in dropped.items() if "does not fit" in reason]
        yield task, "dropped", sum(unfit)
        by_text = [m.sum(axis=1) for m in marks["words"]]
        means = np.array([np.mean([m.mean() for m in by_text])])
        if len(set(map(len, by_text))) == 1:  # the same people mark every text
            means = np.mean(by_text, axis=0)
            for person, mean in enumerate(means if len(means) <= FEW else (), 1):
                yield task, f"words_{person}", mean
        for word, pick in (("fewest", min), ("mean", np.mean), ("most", max)):
            yield task, f"words_{word}", pick(means)
        for unit, found in marks.items():
            shared, over_least = np.nanmean([overlap(m) for m in found], axis=0)
            yield task, f"{unit}_shared_by_all", shared
            yield task, f"{unit}_shared_over_least", over_least


@by_run("method rule k people_k bias± error± correlation instances")
def predicted_k_table(step: Step, run: Run, every: Sequence[VotedText]) -> Iterator[tuple]:
    """One row a run, method and rule: the k that it predicts, against how much people mark.

    people_k: mean over people. bias: mean of k minus people's; error: mean size of that;
        correlation: Spearman's.
    The rules of method `none` see no scores: a quarter of the tokens, and one k for all, people's
    mean.
    """
    readings = marked(every)
    if not readings:
        return
    given = np.array([(r.marks > 0).sum(axis=1).mean() for r in readings])
    of_profiles = {rule: choose for rule, choose in CHOICES.items() if choose is not quarter}
    found = {
        (method, rule): np.array([len(choose(r.scores[method])) for r in readings])
        for method in voters(readings)
        for rule, choose in of_profiles.items()
    }
    found[NONE, "quarter"] = np.array([len(quarter(np.arange(len(r.tokens)))) for r in readings])
    found[NONE, "one_for_all"] = np.full(len(readings), given.mean())
    for names, chosen in found.items():
        apart = chosen - given
        errors = mean_with_interval(step, np.column_stack([apart, np.abs(apart)]), run).T.ravel()
        rank = spearmanr(chosen, given).statistic if np.ptp(chosen) and np.ptp(given) else np.nan
        yield *names, np.mean(chosen), given.mean(), *errors, rank, len(readings)


@by_run("method selection tokens± phrases± agreement± f1± instances")
def phrase_table(step: Step, run: Run, every: Sequence[VotedText]) -> Iterator[tuple]:
    """One row a run, method and way to select: how well it meets what people mark.

    selection: `fixed` (the top k), `peaks`, `phrases` (runs above the mean around peaks). People's
    tokens are those that at least half of them mark, their phrases the runs of these. method
    `people`: each person against the others.
    """
    readings = marked(every)
    if not readings:
        return
    spec = step.profile.agreement
    ways = {
        "fixed": lambda r, m: draw_top_k(
            r.scores[m], spec.fixed_k, generator("phrases", r.instance, m)
        ),
        "peaks": lambda r, m: r.peaks(m, spec),
        "phrases": lambda r, m: phrase_tokens(find_phrases(r.scores[m]), len(r.tokens)),
    }
    given = [majority(relevance(r.marks)) for r in readings]
    for method in voters(readings):
        for way, select in ways.items():
            chosen = [select(r, method) for r in readings]
            values = list(map(selection_scores, chosen, given))
            yield method, way, *mean_with_interval(step, values, run).T.ravel(), len(readings)
    among_people = [
        [selection_scores(*pair) for pair in each_against_others(r.marks)] for r in readings
    ]
    values = [np.nanmean(scores, axis=0) for scores in among_people]
    yield PEOPLE, "own", *mean_with_interval(step, values, run).T.ravel(), len(readings)


def each_against_others(marks: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each person marks, beside the majority of the others.

    Those without a mark on either side are left out.
    """
    pairs = []
    for person in range(len(marks)) if len(marks) > 1 else ():
        own = marks[person] > 0
        others = majority(relevance(np.delete(marks, person, axis=0)))
        if own.any() and others.any():
            pairs.append((own, others))
    nothing = np.zeros(marks.shape[1], bool)
    return pairs or [(nothing, nothing)]


def selection_scores(selection: np.ndarray, given: np.ndarray) -> tuple[float, float, float, float]:
    """Tokens and phrases selected, agreement with the given tokens, F1 of the phrases."""
    phrases = true_runs(selection)
    agreed = agreement_of([selection, given])
    return selection.sum(), len(phrases), agreed, phrase_f1(phrases, true_runs(given))
