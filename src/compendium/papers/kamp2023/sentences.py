"""What the paper and notebook 05 say of agreement: numbers in `summary`, a sentence a section.

A sentence reads a number from the same cell of `summary` as the text does, or else from the table
of its section.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from compendium.config.judges import AgreementSpec
from compendium.papers.common.sentences import (
    BoldSentence,
    farthest,
    fill,
    highest,
    lowest,
    of_first_task,
    of_row,
    sentence,
    tell,
)
from compendium.papers.common.style import task_title
from compendium.papers.common.tables import table_of
from compendium.papers.kamp2023.agreement import PAIR_KINDS, kind_of
from compendium.papers.kamp2023.readings import PEOPLE, SIX, VotedText, voter_title
from compendium.workflow.step import Step

Row = tuple[str, str, str, float]


@table_of("task quantity name value")
def agreement_summary(step: Step, **tables: pd.DataFrame) -> Iterator[Row]:
    """One row a task (`all` for settings) and quantity: its value, and who has it.

    tables: agreement, groups, lengths, with_people, dynamic, dynamic_k and predicted_k, as the
    notebook writes them, or some of these. Means are over the runs of a task; a quantity of which
    there is nothing has no row.
    """
    spec = step.profile.agreement
    fixed = min(spec.fixed_k, spec.largest_k)
    yield "all", "shown_k", "", fixed
    yield "all", "fixed_k", "", spec.fixed_k
    yield "all", "tie_draws", "", spec.tie_draws
    for task, part in _by_task(tables.get("agreement"), fixed):
        random = part.group == "with random"
        yield from _extremes(task, "pairs", part[~random], ["method_a", "method_b"], "agreement")
        yield from _mean(task, "pairs_random", part.agreement[random])
    for task, part in _by_task(tables.get("groups"), fixed):
        yield from _mean(task, "all_six", part.agreement[part.group == "all six"])
    for task, part in _by_task(tables.get("lengths")):
        by_k = part.pivot_table(index="length", columns="k", values="agreement")
        # beyond their length, the shortest texts are selected whole
        by_k = by_k.loc[:, : by_k.index.min()]
        rises = (by_k.iloc[:, -1] - by_k.iloc[:, 0]) / max(1, by_k.shape[1] - 1)  # with each k
        for word, length in (("short", rises.index.min()), ("long", rises.index.max())):
            yield task, word, "", length
            yield task, f"{word}_rise", "", rises[length]
    for task, part in _by_task(tables.get("with_people"), fixed):
        random = part.method == "random"
        yield from _extremes(task, "people", part[~random], "method", "agreement")
        yield from _mean(task, "people_random", part.agreement[random])
    for task, part in _by_task(tables.get("dynamic_k")):
        yield from _extremes(task, "dynamic_k", part[part.voter != PEOPLE], "voter", "k")
    for task, part in _by_task(tables.get("dynamic"), spec.fixed_k):
        by_pair = part[part.b != PEOPLE].groupby(["a", "b"])
        pairs = by_pair[["difference", "dynamic", "fixed"]].mean()
        yield task, "pairs", "", len(pairs)
        yield task, "closer_pairs", "", (pairs.difference > 0).sum()
        yield task, "spread_fixed", "", np.ptp(pairs.fixed)
        yield task, "spread_dynamic", "", np.ptp(pairs.dynamic)
    for task, part in _by_task(tables.get("predicted_k")):
        errors = part.groupby("rule").error.mean().drop("one_for_all")
        yield task, "best_rule", errors.idxmin().replace("_", " "), errors.min()


def _by_task(
    table: pd.DataFrame | None, k: int | None = None
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The parts of a table by task, at one k; none of a table that is not asked for."""
    if table is not None:
        yield from (table if k is None else table[table.k == k]).groupby("task", sort=False)


def _extremes(
    task: str, what: str, rows: pd.DataFrame, voters: str | list[str], column: str
) -> Iterator[Row]:
    """Highest and lowest of the means of a column over voters, or pairs of voters."""
    means = rows.groupby(voters, sort=False)[column].mean()
    for word, at in (("highest", means.idxmax()), ("lowest", means.idxmin())) if len(means) else ():
        names = [at] if isinstance(at, str) else at
        yield task, f"{what}_{word}", " and ".join(map(voter_title, names)), means[at]


def _mean(task: str, quantity: str, values: pd.Series) -> Iterator[Row]:
    if len(values):
        yield task, quantity, "", values.mean()


def _of_summary(
    said: str, more: str = "", first: bool = True
) -> Callable[[pd.DataFrame], BoldSentence]:
    return sentence(lambda summary: tell(summary, said, more, first))


say_pairs = _of_summary(
    "At k = {shown_k.value:.0f} on {task}, {pairs_highest.name} agree most, "
    "{pairs_highest.value:.2f}, and {pairs_lowest.name} least, {pairs_lowest.value:.2f}",
    "; pairs with random scores reach {pairs_random.value:.2f}",
)
say_answer = _of_summary(
    "At k = {shown_k.value:.0f} on {task}, the agreement of two methods is "
    "{pairs_lowest.value:.2f} to {pairs_highest.value:.2f}, depending on the pair (with random "
    "scores {pairs_random.value:.2f}), and that of a method with people {people_lowest.value:.2f} "
    "to {people_highest.value:.2f} (of random scores {people_random.value:.2f}). A k of its own "
    "for each explanation brings "
    "{closer_pairs.value:.0f} of {pairs.value:.0f} pairs of methods closer together"
)
say_lengths = _of_summary(
    "on {task} each further token raises agreement by {short_rise.value:.3f} in texts of about "
    "{short.value:.0f} tokens and by {long_rise.value:.3f} in texts of about {long.value:.0f}",
    first=False,
)
say_with_people = _of_summary(
    "At k = {shown_k.value:.0f} on {task}, {people_highest.name} agrees most with people, "
    "{people_highest.value:.2f}, and {people_lowest.name} least, {people_lowest.value:.2f}",
    "; random scores reach {people_random.value:.2f}",
)


@sentence
def say_three_groups(agreement: pd.DataFrame, k: int) -> str:
    """In how many tasks the paper's three groups lie apart at one k.

    And the pairs of the first task that agree most and least.
    """
    of_six = agreement.method_a.isin(SIX) & agreement.method_b.isin(SIX)
    part = agreement[(agreement.k == k) & of_six]
    if part.empty:
        return ""
    kinds = list(map(kind_of, part.method_a, part.method_b))
    # of the groups that a task has, the one that agrees most comes first
    of_kind = ["task", pd.Categorical(kinds, PAIR_KINDS)]
    ends = part.groupby(of_kind, sort=True, observed=True).agreement.agg(["min", "max"])
    apart = []
    for _, of_task in ends.groupby(level=0):
        lows = of_task["min"].to_numpy()
        highs = of_task["max"].to_numpy()
        apart.append((lows[:-1] > highs[1:]).all())
    first = of_first_task(part)
    most = highest(first, "agreement")
    least = lowest(first, "agreement")
    return (
        f"At k = {k} the three groups are separate, in the paper's order, in {sum(apart)} of "
        f"{len(apart)} tasks; on {task_title(most.task)} pairs range from "
        f"{of_row(most, 'agreement')} ({_pair(most)}) to {of_row(least, 'agreement')} "
        f"({_pair(least)})."
    )


@sentence
def say_peak_counts(summary: pd.DataFrame, peaks: pd.DataFrame) -> str:
    known = peaks.published_k.dropna()
    published = (
        f"; the published range is {known.min():.1f} to {known.max():.1f}" if len(known) else ""
    )
    said = (
        "On {task} mean dynamic k ranges from {dynamic_k_lowest.value:.2f} "
        "({dynamic_k_lowest.name}) to "
    )
    return tell(
        summary, said + "{dynamic_k_highest.value:.2f} ({dynamic_k_highest.name})", published
    )


@sentence
def say_predicted_k(summary: pd.DataFrame, predicted: pd.DataFrame) -> str:
    own = predicted[predicted.rule == "one_for_all"]
    error = own.error[own.task.isin(predicted.task[:1])].mean()
    said = (
        "On {task} the rule nearest to people is “{best_rule.name}”, off by "
        "{best_rule.value:.2f} tokens on average"
    )
    beside = (
        "" if np.isnan(error) else f"; people's own mean, used for all texts, is off by {error:.2f}"
    )
    return tell(summary, said, beside)


@sentence
def say_spread(summary: pd.DataFrame) -> str:
    shown = tell(
        summary, "{spread_fixed.value:.2f} and {spread_dynamic.value:.2f} on {task}", first=False
    )
    return (
        shown
        and "The pair that agrees most is above the one that agrees least, at fixed and dynamic "
        f"k, by {shown}"
    )


@sentence
def say_groups(groups: pd.DataFrame, k: int) -> str:
    part = groups[(groups.group == "all six") & groups.k.isin([0, k])]
    shown = []
    for task, rows in part.groupby("task", sort=False):
        by_k = {row.k: of_row(row, "agreement") for _, row in rows.iterrows()}
        if {0, k} <= set(by_k):
            shown.append(f"{by_k[k]} at k = {k} and {by_k[0]} at dynamic k on {task_title(task)}")
    return f"The agreement of all six is {'; '.join(shown)}." if shown else ""


@sentence
def say_people(people: pd.DataFrame) -> str:
    part = of_first_task(people).set_index("quantity").value
    if "words_mean" not in part:
        return ""
    all_mark = part.get("words_shared_by_all")
    shared = (
        ""
        if all_mark is None
        else f"; {100 * all_mark:.0f} % of what anybody marks is marked by all"
    )
    return (
        f"On {task_title(people.task.iloc[0])} a person marks {part['words_mean']:.2f} words per "
        f"text ({part['words_fewest']:.2f} to {part['words_most']:.2f}, depending on the "
        f"person){shared}."
    )


def say_peaks(readings: Sequence[VotedText], spec: AgreementSpec) -> BoldSentence:
    """How many tokens of the texts shown are peaks, by the method shown of each."""
    shown = []
    for reading, method in (
        (readings[0], "gradient_l1"),
        (readings[-1], "integrated_gradients_plain"),
    ):
        if method in reading.scores:
            peaks = reading.peaks(method, spec)
            shown.append(f"{peaks.sum()} of {len(peaks)} tokens are peaks of {voter_title(method)}")
    return BoldSentence(
        f"In the texts shown, {' and '.join(shown)}."
        if shown
        else "Neither method has explained the texts."
    )


@sentence
def say_dynamic(compared: pd.DataFrame, k: int) -> str:
    part = compared[(compared.k == k) & (compared.b != PEOPLE)]
    closer = (part.difference_low > 0).sum()
    farther = (part.difference_high < 0).sum()
    row = farthest(part, "difference")
    moved = of_row(row, "difference", "difference_low", "difference_high", "+")
    return (
        f"Compared with k = {k}, dynamic k surely brings {closer} of {len(part)} pairs closer "
        f"together and surely takes {farther} farther apart; {_pair(row, 'a', 'b')} on "
        f"{task_title(row.task)} move most, by {moved}."
    )


@sentence
def say_phrases(phrases: pd.DataFrame) -> str:
    part = phrases[phrases.method != PEOPLE]
    row = highest(part, "f1")
    means = ", ".join(
        f"{name} {f1:.2f}" for name, f1 in part.groupby("selection", sort=False).f1.mean().items()
    )
    return (
        f"{voter_title(row.method)} comes closest to what people mark (selection: "
        f"{row.selection}), F1 "
        f"{of_row(row, 'f1', 'f1_low', 'f1_high')}; means over methods: {means}."
    )


@sentence
def say_agreement_choices(ties: pd.DataFrame, signs: pd.DataFrame, rules: pd.DataFrame) -> str:
    moved = [
        "Breaking ties at random moves a pair's agreement by at most "
        f"{ties.farthest.abs().max():.3f}"
    ]
    wide = signs.pivot_table(
        index=["task", "model", "seed", "method"], columns="sign", values="fixed"
    )
    if {"signed", "unsigned"} <= set(wide):
        moved.append(
            "dropping the signs moves a method's by at most "
            f"{(wide.unsigned - wide.signed).abs().max():.3f}"
        )
    by_rule = rules.groupby(["task", "rule"]).k.mean().unstack("rule")
    apart = (by_rule.max(axis=1) - by_rule.min(axis=1)).max()
    moved.append(f"the rules of dynamic k differ by up to {apart:.1f} tokens")
    return f"{'; '.join(moved)}."


OURS = (
    "{percent:.1f} % on {task:task} ({runs} runs, {least:.5f} to {most:.5f}; {by_chance:.1f} % if "
    "they exchange names at random in each text, p = {p:.3f})"
)
PUBLISHED = "{percent:.1f} % in the published study ({runs} runs, {least:.5f} to {most:.5f})"
ORDER = (
    " When texts on {task:task} are drawn anew, the same run differs least in {stays:percent} of "
    "the draws; {surely:.0f} of the other {others} surely differ more."
)


@sentence
def say_seeds(spread: pd.DataFrame) -> str:
    """How far the seeds' pairwise differences are apart, ours and the published ones."""
    spread = spread.assign(
        percent=100 * spread.spread, by_chance=100 * spread.chance, others=spread.runs - 1
    )
    rows = spread.to_dict("records")
    shown = [fill(PUBLISHED if row["study"] == "published" else OURS, **row) for row in rows]
    order = [fill(ORDER, **row) for row in rows if row["study"] != "published"]
    return (
        "The largest average pairwise difference exceeds the smallest by "
        f"{' and by '.join(shown)}.{''.join(order)}"
    )


def _pair(row: pd.Series, a: str = "method_a", b: str = "method_b") -> str:
    return f"{voter_title(row[a])} and {voter_title(row[b])}"
