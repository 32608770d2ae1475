"""One sentence a section of notebooks 05."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from compendium.config.judges import AgreementSpec
from compendium.papers.common.sentences import Sentence, of_row, sentence
from compendium.papers.common.style import task_title
from compendium.papers.kamp2023.agreement import LOW
from compendium.papers.kamp2023.readings import PEOPLE, SIX, Reading, voter_title
from compendium.papers.kamp2023.summary import rise_with_k


def _pair(row: pd.Series, a: str = "method_a", b: str = "method_b") -> str:
    """The two voters of a row."""
    return f"{voter_title(row[a])} and {voter_title(row[b])}"


def _ends(part: pd.DataFrame, column: str) -> tuple[pd.Series, pd.Series]:
    """The rows with the highest and the lowest value."""
    return part.loc[part[column].idxmax()], part.loc[part[column].idxmin()]


@sentence
def say_pairs(agreement: pd.DataFrame, k: int) -> str:
    """Which pairs agree most and least at one k on the first task, beside what pairs with random scores reach."""
    part = agreement[(agreement.k == k) & (agreement.task == agreement.task.iloc[0])]
    random = part.group == "with random"
    if random.all():
        return "No two methods are compared."
    most, least = _ends(part[~random], "agreement")
    floor = f"; pairs with random scores reach {part[random].agreement.mean():.2f}" if random.any() else ""
    return (
        f"At k = {k} on {task_title(most.task)}, {_pair(most)} agree most, {of_row(most, 'agreement')}, and "
        f"{_pair(least)} least, {of_row(least, 'agreement')}{floor}."
    )


@sentence
def say_three_groups(agreement: pd.DataFrame, k: int) -> str:
    """In how many tasks the paper's three groups lie apart at one k, with the borders on the first."""
    part = agreement[(agreement.k == k) & agreement.method_a.isin(SIX) & agreement.method_b.isin(SIX)]
    if part.empty:
        return "The six methods are not all here."
    kinds = [_group(a, b) for a, b in zip(part.method_a, part.method_b, strict=True)]
    found = part.assign(kind=kinds).groupby(["task", "kind"], sort=False).agreement.agg(["min", "max"]).unstack("kind")
    apart = [
        task
        for task, row in found.iterrows()
        if all(row["min"].get(kind, 1) > row["max"].get(kind + 1, 0) for kind in (0, 1))
    ]
    most, least = _ends(part[part.task == part.task.iloc[0]], "agreement")
    return (
        f"At k = {k} the three groups are separate, in the paper's order, in {len(apart)} of {len(found)} tasks; on "
        f"{task_title(most.task)} pairs range from {of_row(most, 'agreement')} ({_pair(most)}) to "
        f"{of_row(least, 'agreement')} ({_pair(least)})."
    )


def _group(a: str, b: str) -> int:
    """Which of the paper's three groups a pair is in, the one that agrees most first."""
    return 0 if {a, b} == {"partition_shap", "lime"} else 2 if {a, b} & set(LOW) else 1


@sentence
def say_groups(groups: pd.DataFrame, k: int) -> str:
    """What all six methods agree to at a fixed and at dynamic k, by task."""
    part = groups[(groups.group == "all six") & groups.k.isin([0, k])]
    shown = []
    for task, rows in part.groupby("task", sort=False):
        by_k = {row.k: of_row(row, "agreement") for _, row in rows.iterrows()}
        if {0, k} <= set(by_k):
            shown.append(f"{by_k[k]} at k = {k} and {by_k[0]} at dynamic k on {task_title(task)}")
    return f"The agreement of all six is {'; '.join(shown)}." if shown else "The six methods are not all here."


@sentence
def say_lengths(lengths: pd.DataFrame) -> str:
    """How fast agreement rises with k in the shortest and in the longest texts of the first task."""
    part = lengths[lengths.task == lengths.task.iloc[0]]
    rises = part.groupby("length")[["k", "agreement"]].apply(rise_with_k)
    chance = part.assign(agreement=part.chance).groupby("length")[["k", "agreement"]].apply(rise_with_k)
    texts = part.groupby("length").instances.max()
    shown = [
        f"{rises[n]:.3f} in texts of about {n:.0f} tokens ({chance[n]:.3f} for random selections, n = {texts[n]:.0f})"
        for n in dict.fromkeys([rises.index.min(), rises.index.max()])
    ]
    return f"On {task_title(part.task.iloc[0])} each further token raises agreement by {' and by '.join(shown)}."


@sentence
def say_people(people: pd.DataFrame) -> str:
    """How many words people mark, and how much of it all of them do."""
    part = people[people.task == people.task.iloc[0]].set_index("quantity").value
    if "words_mean" not in part:
        return "Nobody has marked these texts."
    all_mark = part.get("words_shared_by_all")
    shared = "" if all_mark is None else f"; {100 * all_mark:.0f} % of what anybody marks is marked by all"
    return (
        f"On {task_title(people.task.iloc[0])} a person marks {part['words_mean']:.2f} words per text "
        f"({part['words_fewest']:.2f} to {part['words_most']:.2f}, depending on the person){shared}."
    )


@sentence
def say_with_people(table: pd.DataFrame, k: int) -> str:
    """Which method agrees most with people at one k, which least, and what random scores reach."""
    part = table[(table.k == k) & (table.task == table.task.iloc[0])]
    methods = part[part.method != "random"]
    if methods.empty:
        return "No method is compared with people."
    most, least = _ends(methods, "agreement")
    random = part[part.method == "random"]
    floor = f"; random scores reach {of_row(random.iloc[0], 'agreement')}" if len(random) else ""
    return (
        f"At k = {k} on {task_title(most.task)}, {voter_title(most.method)} agrees most with people, "
        f"{of_row(most, 'agreement')}, and {voter_title(least.method)} least, {of_row(least, 'agreement')}{floor}."
    )


def say_peaks(readings: Sequence[Reading], spec: AgreementSpec) -> Sentence:
    """How many tokens of the texts shown are peaks, by the method shown of each."""
    shown = []
    for reading, method in ((readings[0], "gradient_l1"), (readings[-1], "integrated_gradients_plain")):
        if method in reading.scores:
            peaks = reading.peaks(method, spec)
            shown.append(f"{peaks.sum()} of {len(peaks)} tokens are peaks of {voter_title(method)}")
    return Sentence(
        f"In the texts shown, {' and '.join(shown)}." if shown else "Neither method has explained the texts."
    )


@sentence
def say_dynamic(compared: pd.DataFrame, k: int) -> str:
    """How many pairs dynamic k brings closer, and the pair that moves most."""
    part = compared[(compared.k == k) & (compared.b != PEOPLE)]
    if part.empty:
        return "No two methods are compared."
    surely = ((part.difference_low > 0).sum(), (part.difference_high < 0).sum())
    row = part.loc[part.difference.abs().idxmax()]
    moved = of_row(row, "difference", "difference_low", "difference_high", "+")
    return (
        f"Compared with k = {k}, dynamic k surely brings {surely[0]} of {len(part)} pairs closer together and surely "
        f"takes {surely[1]} farther apart; {_pair(row, 'a', 'b')} on {task_title(row.task)} move most, by {moved}."
    )


@sentence
def say_peak_counts(peaks: pd.DataFrame) -> str:
    """The voters with the fewest and the most peaks on the first task, beside the published range."""
    part = peaks[(peaks.voter != PEOPLE) & (peaks.task == peaks.task.iloc[0])]
    most, least = _ends(part, "k")
    known = part.published_k.dropna()
    published = f"; the published range is {known.min():.1f} to {known.max():.1f}" if len(known) else ""
    return (
        f"On {task_title(most.task)} mean dynamic k ranges from {of_row(least, 'k')} ({voter_title(least.voter)}) to "
        f"{of_row(most, 'k')} ({voter_title(most.voter)}){published}."
    )


@sentence
def say_phrases(phrases: pd.DataFrame) -> str:
    """Which method and selection come closest to what people mark."""
    part = phrases[phrases.method != PEOPLE]
    if part.empty:
        return "No method is compared with people."
    row = part.loc[part.f1.idxmax()]
    means = ", ".join(f"{name} {f1:.2f}" for name, f1 in part.groupby("selection", sort=False).f1.mean().items())
    return (
        f"{voter_title(row.method)} comes closest to what people mark (selection: {row.selection}), F1 "
        f"{of_row(row, 'f1', 'f1_low', 'f1_high')}; means over methods: {means}."
    )


@sentence
def say_predicted_k(predicted: pd.DataFrame) -> str:
    """The rule whose k is nearest to people's, beside their own mean."""
    means = predicted.groupby("rule", sort=False).error.mean()
    rules = means.drop("one_for_all", errors="ignore")
    best = predicted[predicted.rule == rules.idxmin()]
    row = best.loc[best.error.idxmin()]
    own = (
        f"; people's own mean, used for all texts, is off by {means['one_for_all']:.2f}"
        if "one_for_all" in means
        else ""
    )
    return (
        f"The rule nearest to people is “{rules.idxmin().replace('_', ' ')}”, off by {rules.min():.2f} tokens on "
        f"average and by {of_row(row, 'error', 'error_low', 'error_high')} for {voter_title(row.method)}{own}."
    )


@sentence
def say_choices(ties: pd.DataFrame, signs: pd.DataFrame, rules: pd.DataFrame) -> str:
    """How far each small choice moves an agreement, at most."""
    moved = [f"Breaking ties at random moves a pair's agreement by at most {ties.farthest.abs().max():.3f}"]
    wide = signs.pivot_table(index=["task", "model", "seed", "method"], columns="sign", values="fixed", sort=False)
    if {"signed", "unsigned"} <= set(wide):
        moved.append(f"dropping the signs moves a method's by at most {(wide.unsigned - wide.signed).abs().max():.3f}")
    by_rule = rules.groupby(["task", "rule"], sort=False).k.mean().unstack("rule")
    apart = (by_rule.max(axis=1) - by_rule.min(axis=1)).max()
    moved.append(f"the rules of dynamic k differ by up to {apart:.1f} tokens")
    return f"{'; '.join(moved)}."


@sentence
def say_spread(summary: pd.DataFrame) -> str:
    """How far apart pairs lie at a fixed and at dynamic k, by task."""
    wide = summary.pivot_table(index="task", columns="quantity", values="value", sort=False)
    if not {"spread_fixed", "spread_dynamic"} <= set(wide):
        return "No two methods are compared."
    known = wide.dropna(subset=["spread_fixed", "spread_dynamic"])
    shown = [f"{row.spread_fixed:.2f} and {row.spread_dynamic:.2f} on {task_title(at)}" for at, row in known.iterrows()]
    return (
        f"The pair that agrees most is above the one that agrees least, at fixed and dynamic k, by {', '.join(shown)}."
    )


@sentence
def say_seeds(spread: pd.DataFrame) -> str:
    """How far the seeds' average pairwise differences are apart, ours and the published ones, and how sure that is."""
    shown, order = [], []
    for row in spread.to_dict("records"):
        where = "in the published study" if row["study"] == "published" else f"on {task_title(row['task'])}"
        runs = f"{row['runs']} runs, {row['least']:.5f} to {row['most']:.5f}"
        if row["study"] != "published":
            runs += f"; {100 * row['chance']:.1f} % if they exchange names at random in each text, p = {row['p']:.3f}"
            order.append(
                f"When texts {where} are drawn anew, the same run differs least in {100 * row['stays']:.0f} % of the "
                f"draws; {row['surely']} of the other {row['runs'] - 1} surely differ more."
            )
        shown.append(f"{100 * row['spread']:.1f} % {where} ({runs})")
    return " ".join(
        [f"The largest average pairwise difference exceeds the smallest by {' and by '.join(shown)}.", *order]
    )
