"""Agreement with people (Kamp et al. 2023, section 3 and Figure 2b), and k and phrases without them.

Do methods put forward what people marked, and does a profile predict how much people would mark?
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attreval.core.runs import true_runs
from attreval.core.seeds import generator
from attreval.core.tables import read_about
from attreval.metrics.agreement import agreement_of, draw_top_k
from attreval.metrics.dynamic_k import CHOICES, quarter
from attreval.metrics.marks import overlap, spaced_marks, token_marks
from attreval.metrics.phrases import find_phrases, phrase_f1, phrase_tokens
from compendium import corpora
from compendium.config import Run
from compendium.papers.common.runs import load_tokens, reported
from compendium.papers.common.sample import marked_corpus
from compendium.papers.kamp2023.agreement import mean_with_interval
from compendium.papers.kamp2023.readings import PEOPLE, Reading, marked, read_runs, voters

FEW = 5  # people who are named one by one
NONE = "none"  # the method of a rule that looks at no scores


def marked_runs(step) -> Iterator[tuple[Run, list[Reading]]]:
    """The runs whose instances people have marked, with the marked readings."""
    for run, readings in read_runs(step):
        if found := marked(readings):
            yield run, found


def human_agreement_table(step) -> pd.DataFrame:
    """One row a run, method and k: mean agreement@k with people (Kamp et al. 2023, Fig. 2b); random as the floor.

    unmarked: instances left out because nobody marked a word of them that the model reads.
    """
    spec, rows = step.profile.agreement, []
    for run, every in read_runs(step):
        readings = marked(every)
        if not readings:
            continue
        for method in [*voters(readings), *voters(readings, ("random",))]:
            ks = range(1, spec.largest_k + 1)
            values = np.array([[r.agreement_at_k((method, PEOPLE), k, spec) for k in ks] for r in readings])
            mean, low, high = mean_with_interval(step, values, run)
            rows += [
                (*run, method, k, mean[i], low[i], high[i], len(readings), len(every) - len(readings))
                for i, k in enumerate(ks)
            ]
    columns = ["task", "model", "seed", "method", "k", "agreement", "low", "high", "instances", "unmarked"]
    return pd.DataFrame(rows, columns=columns)


def annotation_table(step) -> pd.DataFrame:
    """One row a task and quantity: how much each person marks and how far all agree, over dev and test.

    words are parted by white space, as the annotators saw them; tokens are the model's. Dropped rows are those whose
    marks did not fit their text.
    """
    rows = []
    for task in dict.fromkeys(run[0] for run, _ in marked_runs(step)):
        run = next(run for run in step.profile.explained_runs("agreement") if run[0] == task)
        tokens = load_tokens(step.results, step.profile, *run, "marked")
        instances = marked_corpus(task)
        marks = [spaced_marks(i) for i in instances]
        in_tokens = [token_marks(i, tokens[i.id]) for i in instances]
        rows.append((task, "instances", len(instances)))
        rows.append((task, "dropped", _count_misfits(task)))
        by_text = [m.sum(axis=1) for m in marks]
        same_people = len({len(m) for m in marks}) == 1
        means = np.mean(by_text, axis=0) if same_people else np.array([np.mean([m.mean() for m in by_text])])
        if same_people and len(means) <= FEW:
            rows += [(task, f"words_{person}", mean) for person, mean in enumerate(means, 1)]
        rows += [(task, f"words_{word}", f(means)) for word, f in (("fewest", min), ("mean", np.mean), ("most", max))]
        for unit, found in (("words", marks), ("tokens", in_tokens)):
            shared, over_least = np.nanmean([overlap(m) for m in found], axis=0)
            rows += [(task, f"{unit}_shared_by_all", shared), (task, f"{unit}_shared_over_least", over_least)]
    table = pd.DataFrame(rows, columns=["task", "quantity", "value"])
    return table.merge(_published_annotation(), on=["task", "quantity"], how="left")


def _count_misfits(task: str) -> int:
    """How many annotated instances were dropped because a mark did not fit its text."""
    dropped = read_about(corpora.table_path(task))["dropped"]
    return sum(count for reason, count in dropped.items() if "does not fit" in reason)


def _published_annotation() -> pd.DataFrame:
    """What the released code of Kamp et al. (2023) notes of e-SNLI, under our names."""
    names = {f"highlighted_tokens_annotator{person}_devtest": f"words_{person}" for person in (1, 2, 3)}
    names |= {"annotator_mean_IoU": "words_shared_by_all", "annotator_intersection_over_min": "words_shared_over_least"}
    table = reported("kamp_dataset_stats")
    table = table[table.quantity.isin(names)].assign(task="esnli", quantity=lambda t: t.quantity.map(names))
    return table.rename(columns={"value": "published"})[["task", "quantity", "published"]]


def predicted_k_table(step) -> pd.DataFrame:
    """One row a run, method and rule: the k it predicts from a profile alone, against how many tokens people mark.

    people_k: mean over people. bias: mean of k minus people's; error: mean size of that; correlation: Spearman's.
    The rules of method `none` see no scores: a quarter of the tokens, and one k for all, people's mean.
    """
    rows = []
    for run, readings in marked_runs(step):
        given = np.array([(r.marks > 0).sum(axis=1).mean() for r in readings])
        found = {
            (method, rule): [len(choose(r.scores[method])) for r in readings]
            for method in voters(readings)
            for rule, choose in CHOICES.items()
            if choose is not quarter
        }
        found[NONE, "quarter"] = [len(quarter(np.arange(len(r.tokens)))) for r in readings]
        found[NONE, "one_for_all"] = np.full(len(readings), given.mean())
        for (method, rule), chosen in found.items():
            apart = np.array(chosen) - given
            errors = _mean_low_high(step, np.column_stack([apart, np.abs(apart)]), run)
            rank = spearmanr(chosen, given).statistic if np.ptp(chosen) and np.ptp(given) else np.nan
            rows.append((*run, method, rule, np.mean(chosen), given.mean(), *errors, rank, len(readings)))
    columns = ["task", "model", "seed", "method", "rule", "k", "people_k", "bias", "bias_low", "bias_high"]
    columns += ["error", "error_low", "error_high", "correlation", "instances"]
    return pd.DataFrame(rows, columns=columns)


def phrase_table(step) -> pd.DataFrame:
    """One row a run, method and way to select: its size, and how well it meets the tokens and phrases that people mark.

    selection: `fixed` (the top k), `peaks`, `phrases` (runs above the mean around peaks). People's tokens are those
    that at least half of them mark, their phrases the runs of these. method `people`: each person against the others.
    """
    spec, rows = step.profile.agreement, []
    for run, readings in marked_runs(step):
        marked_by_most = [majority(r.marks) for r in readings]
        for method in voters(readings):
            ways = {
                "fixed": [_draw_highest(r, method, spec.fixed_k) for r in readings],
                "peaks": [r.peaks(method, spec) for r in readings],
                "phrases": [phrase_tokens(find_phrases(r.scores[method]), len(r.tokens)) for r in readings],
            }
            for way, selections in ways.items():
                values = [selection_scores(*pair) for pair in zip(selections, marked_by_most, strict=True)]
                rows.append((*run, method, way, *_mean_low_high(step, values, run), len(readings)))
        among_people = [[selection_scores(*pair) for pair in each_against_others(r.marks)] for r in readings]
        values = [np.nanmean(scores, axis=0) for scores in among_people]
        rows.append((*run, PEOPLE, "own", *_mean_low_high(step, values, run), len(readings)))
    measures = [f"{name}{end}" for name in ("tokens", "phrases", "agreement", "f1") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["task", "model", "seed", "method", "selection", *measures, "instances"])


def _mean_low_high(step, values: list | np.ndarray, run: Run) -> list[float]:
    """Mean over instances, lower and upper bound of each measure in turn."""
    return [float(x) for measure in zip(*mean_with_interval(step, np.array(values), run), strict=True) for x in measure]


def _draw_highest(reading: Reading, method: str, k: int) -> np.ndarray:
    """(n,) bool top k of a method, ties broken with the seed of the instance."""
    return draw_top_k(reading.scores[method], k, generator("phrases", reading.instance, method))


def majority(marks: np.ndarray) -> np.ndarray:
    """(n,) bool, what at least half of the people mark; what anybody marks where there is no such token."""
    share = (marks > 0).mean(axis=0)
    return share >= 0.5 if (share >= 0.5).any() else share > 0


def each_against_others(marks: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each person marks, beside the majority of the others; those without a mark on either side are left out."""
    pairs = [(marks[i] > 0, majority(np.delete(marks, i, axis=0))) for i in range(len(marks)) if len(marks) > 1]
    pairs = [(own, others) for own, others in pairs if own.any() and others.any()]
    return pairs or [(np.zeros(marks.shape[1], bool), np.zeros(marks.shape[1], bool))]


def selection_scores(selection: np.ndarray, given: np.ndarray) -> tuple[float, float, float, float]:
    """Tokens and phrases selected, agreement with the given tokens, F1 of the phrases."""
    phrases = true_runs(selection)
    return int(selection.sum()), len(phrases), agreement_of([selection, given]), phrase_f1(phrases, true_runs(given))
