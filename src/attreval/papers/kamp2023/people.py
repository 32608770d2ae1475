"""Do methods put forward what people marked, and does a profile tell how much people would mark? (Kamp et al. 2023.)"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attreval import corpora
from attreval.config import Run
from attreval.core.seeds import generator
from attreval.explain import METHODS
from attreval.metrics.agreement import agreement_of, draw_top_k
from attreval.metrics.dynamic_k import CHOICES, quarter
from attreval.metrics.human_agreement import overlap, spaced_marks, token_marks
from attreval.metrics.phrases import find_phrases, phrase_f1, phrase_tokens, true_runs
from attreval.papers.common.runs import load_tokens
from attreval.papers.common.sample import marked_corpus
from attreval.papers.kamp2023.agreement import mean_with_interval
from attreval.papers.kamp2023.readings import PEOPLE, Reading, read_run, voters

FEW = 5  # people who are named one by one
NONE = "none"  # the method of a rule that looks at no scores


def marked_runs(step) -> list[tuple[Run, list[Reading]]]:
    """The runs whose instances people have marked, with the marked readings."""
    found = [(run, read_run(step, run)) for run in step.profile.explained_runs("agreement")]
    return [(run, marked) for run, readings in found if (marked := [r for r in readings if r.marked])]


def human_table(step) -> pd.DataFrame:
    """One row a run, method and k: mean agreement@k with people (Kamp et al. 2023, Fig. 2b); random as the floor.

    unmarked: instances left out because nobody marked a word of them that the model reads.
    """
    spec, rows = step.profile.agreement, []
    for run, readings in marked_runs(step):
        left_out = len(read_run(step, run)) - len(readings)
        for method in [*voters(readings), *voters(readings, ("random",))]:
            ks = range(1, spec.largest_k + 1)
            values = np.array([[r.agreement_at_k((method, PEOPLE), k, spec) for k in ks] for r in readings])
            mean, low, high = mean_with_interval(step, values, run)
            rows += [(*run, method, k, mean[i], low[i], high[i], len(readings), left_out) for i, k in enumerate(ks)]
    columns = ["task", "model", "seed", "method", "k", "agreement", "low", "high", "instances", "unmarked"]
    return pd.DataFrame(rows, columns=columns)


def people_table(step) -> pd.DataFrame:
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
        rows.append((task, "dropped", count_misfits(task)))
        counts = np.array([m.sum(axis=1) for m in marks])
        means = counts.mean(axis=0)
        if len(means) <= FEW:
            rows += [(task, f"words_{person}", mean) for person, mean in enumerate(means, 1)]
        rows += [(task, f"words_{word}", f(means)) for word, f in (("fewest", min), ("mean", np.mean), ("most", max))]
        for unit, found in (("words", marks), ("tokens", in_tokens)):
            shared, over_least = np.nanmean([overlap(m) for m in found], axis=0)
            rows += [(task, f"{unit}_shared_by_all", shared), (task, f"{unit}_shared_over_least", over_least)]
    table = pd.DataFrame(rows, columns=["task", "quantity", "value"])
    return table.merge(published_people(), on=["task", "quantity"], how="left")


def count_misfits(task: str) -> int:
    """How many annotated instances were dropped because a mark did not fit its text."""
    from attreval.core.tables import read_about

    dropped = read_about(corpora.table_path(task))["dropped"]
    return sum(count for reason, count in dropped.items() if "does not fit" in reason)


def published_people() -> pd.DataFrame:
    """What the released code of Kamp et al. (2023) notes of e-SNLI, under our names."""
    from attreval.papers.common.published import reported

    names = {f"highlighted_tokens_annotator{person}_devtest": f"words_{person}" for person in (1, 2, 3)}
    names |= {"annotator_mean_IoU": "words_shared_by_all", "annotator_intersection_over_min": "words_shared_over_least"}
    table = reported("kamp_dataset_stats")
    table = table[table.quantity.isin(names)].assign(task="esnli", quantity=lambda t: t.quantity.map(names))
    return table.rename(columns={"value": "published"})[["task", "quantity", "published"]]


def k_table(step) -> pd.DataFrame:
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
            mean, low, high = mean_with_interval(step, np.column_stack([apart, np.abs(apart)]), run)
            rank = spearmanr(chosen, given).statistic if np.ptp(chosen) and np.ptp(given) else np.nan
            numbers = (np.mean(chosen), given.mean(), mean[0], low[0], high[0], mean[1], low[1], high[1], rank)
            rows.append((*run, method, rule, *numbers, len(readings)))
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
        for method in voters(readings):
            ways = {
                "fixed": [top(r, method, spec.fixed_k) for r in readings],
                "peaks": [r.peaks(method, spec) for r in readings],
                "phrases": [phrase_tokens(find_phrases(r.scores[method]), len(r.tokens)) for r in readings],
            }
            for way, selections in ways.items():
                values = np.array([meet(s, majority(r.marks)) for s, r in zip(selections, readings, strict=True)])
                rows.append((*run, method, way, *spread_out(mean_with_interval(step, values, run)), len(readings)))
        values = [np.nanmean([meet(*pair) for pair in against_others(r.marks)], axis=0) for r in readings]
        rows.append((*run, PEOPLE, "own", *spread_out(mean_with_interval(step, np.array(values), run)), len(readings)))
    measures = [f"{name}{end}" for name in ("tokens", "phrases", "agreement", "f1") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["task", "model", "seed", "method", "selection", *measures, "instances"])


def spread_out(means: tuple) -> list[float]:
    """Mean, low, high of each measure in turn."""
    return [float(x) for measure in zip(*means, strict=True) for x in measure]


def top(reading: Reading, method: str, k: int) -> np.ndarray:
    """(n,) bool top k of a method, ties broken with the seed of the instance."""
    return draw_top_k(reading.scores[method], k, generator("phrases", reading.instance, method))


def majority(marks: np.ndarray) -> np.ndarray:
    """(n,) bool, what at least half of the people mark; what anybody marks where there is no such token."""
    share = (marks > 0).mean(axis=0)
    return share >= 0.5 if (share >= 0.5).any() else share > 0


def against_others(marks: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each person marks, beside the majority of the others; those without a mark on either side are left out."""
    pairs = [(marks[i] > 0, majority(np.delete(marks, i, axis=0))) for i in range(len(marks)) if len(marks) > 1]
    pairs = [(own, others) for own, others in pairs if own.any() and others.any()]
    return pairs or [(np.zeros(marks.shape[1], bool), np.zeros(marks.shape[1], bool))]


def meet(selection: np.ndarray, given: np.ndarray) -> tuple[float, float, float, float]:
    """Tokens and phrases selected, agreement with the given tokens, F1 of the phrases."""
    phrases = true_runs(selection)
    return int(selection.sum()), len(phrases), agreement_of([selection, given]), phrase_f1(phrases, true_runs(given))


def note_people(
    step, people: pd.DataFrame, curves: pd.DataFrame, predicted: pd.DataFrame, phrases: pd.DataFrame
) -> None:
    """Keep what people mark, who agrees with them most, how well k is predicted, and which selection meets theirs."""
    named = [task for task in people.task.unique() if task == "esnli"]
    left_out = "it is left out, because its files are not at hand (ATTREVAL_CORPORA names no folder that has them)"
    step.number("people.esnli_note", "it is used" if named else left_out)
    k = min(step.profile.agreement.fixed_k, step.profile.agreement.largest_k)
    for row in people.itertuples():
        digits = None if row.quantity in ("instances", "dropped") else 2
        step.number(f"people.{row.task}.{row.quantity}", int(row.value) if digits is None else float(row.value), digits)
    for task, part in curves.groupby("task", sort=False):
        step.number(f"people.{task}.explained", int(part.instances.max()))
        step.number(f"people.{task}.unmarked", int(part.unmarked.max()))
        at_one = part[part.k == k].groupby("method", sort=False).agreement.mean()
        if "random" in at_one:
            step.number(f"people.{task}.random", float(at_one["random"]), 2)
        at_one = at_one.drop("random", errors="ignore")
        step.number(f"people.{task}.best_method", METHODS[at_one.idxmax()].title)
        step.number(f"people.{task}.best", float(at_one.max()), 2)
        step.number(f"people.{task}.worst_method", METHODS[at_one.idxmin()].title)
        step.number(f"people.{task}.worst", float(at_one.min()), 2)
    for task, part in predicted.groupby("task", sort=False):
        errors = part.groupby("rule", sort=False).error.mean()
        step.number(f"people.{task}.k", float(part.people_k.mean()), 1)
        for rule in ("released", "one_for_all", "quarter"):
            step.number(f"people.{task}.error_{rule}", float(errors[rule]), 1)
        best = errors.drop("one_for_all").idxmin()
        step.number(f"people.{task}.best_rule", best.replace("_", " "))
        step.number(f"people.{task}.error_best_rule", float(errors[best]), 1)
        step.number(f"people.{task}.correlation", float(part[part.rule == "released"].correlation.mean()), 2)
    for task, part in phrases.groupby("task", sort=False):
        means = part.groupby("selection", sort=False)[["agreement", "f1"]].mean()
        for selection, row in means.iterrows():
            step.number(f"people.{task}.{selection}_agreement", float(row.agreement), 2)
            step.number(f"people.{task}.{selection}_f1", float(row.f1), 2)
