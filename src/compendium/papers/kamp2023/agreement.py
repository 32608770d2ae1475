"""agreement@k of pairs and groups of methods, at one k for all and at dynamic k.

Ties, the sign of scores and the rule of dynamic k are tried as the paper and its released code have
them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from attreval.methods.method import KINDS
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.dynamic_k import PEAK_RULES
from compendium.config import AgreementSpec, Run
from compendium.papers.common.runs import BY_TOKEN, RUN
from compendium.papers.common.tables import table_of
from compendium.papers.kamp2023.readings import (
    DYNAMIC,
    PEOPLE,
    SIX,
    VotedText,
    by_k,
    by_run,
    marked,
    mean_with_interval,
    shared_readings,
    voter_title,
    voters,
    voters_and_people,
)
from compendium.workflow.step import Step

VotedTexts = Sequence[VotedText]

LENGTHS = (10, 15, 20, 25, 30, 35, 40)  # tokens of the texts of Figure 6
# methods whose pairs agree least in the paper
LOW = ("integrated_gradients_plain", "gradient_x_input")
GROUPS = {"all six": SIX} | {
    kind: [m for m in SIX if METHODS[m].kind == kind] for kind in ("perturbation", "gradient")
}
# the largest fixed k that dynamic k is compared with, where the profile fixes no larger one
COMPARED = 10
IMPROVED = 5  # and the largest of the paper's Table 1
PAIR_KINDS = (  # the paper's three groups of pairs, the one that agrees most first
    "Partition SHAP and LIME",
    "other pairs",
    "pairs with plain integrated gradients or Gradient x Input",
)


def kind_of(a: str, b: str) -> str:
    """Which of the paper's three groups a pair of the six methods is in."""
    most, between, least = PAIR_KINDS
    if {a, b} == {"partition_shap", "lime"}:
        return most
    return least if {a, b} & set(LOW) else between


def group_of(a: str, b: str) -> str:
    """What kind of pair two methods are: `both gradient`, or `gradient and attention`."""
    if "random" in (a, b):
        return "with random"
    first, second = sorted((METHODS[name].kind for name in (a, b)), key=KINDS.index)
    return f"both {first}" if first == second else f"{first} and {second}"


def agreements(
    readings: Iterable[VotedText],
    pairs: Iterable[Sequence[str]],
    k: int,
    spec: AgreementSpec,
    draw: int | None = None,
) -> np.ndarray:
    """agreement@k of each pair of voters on each text, one text after the other."""
    return np.array([r.agreement_at_k(pair, k, spec, draw) for r in readings for pair in pairs])


@by_run("method_a method_b group k agreement low high instances")
def agreement_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run, pair of methods and k: mean agreement@k with its interval."""
    # the order that this table's draws are made for
    by_name = sorted(readings, key=lambda r: r.instance)
    # ties are broken at random in the same order as in the tables of the six methods
    at_random = step.profile.agreement.ties == "random"
    for pair in combinations(voters(readings, BY_TOKEN), 2):
        names = sorted(pair, key=[*SIX, *BY_TOKEN].index) if at_random else pair
        for row in by_k(step, run, by_name, names):
            yield *pair, group_of(*pair), *row


def most_methods(table: pd.DataFrame) -> pd.DataFrame:
    """The part of an agreement table on the tasks that most methods explain."""
    pairs = table.groupby("task")[["method_a", "method_b"]].nunique().sum(axis=1)
    return table[table.task.isin(pairs.index[pairs == pairs.max()])]


def matrix_at_k(table: pd.DataFrame, k: int) -> dict[str, pd.DataFrame]:
    """By task, methods by methods, mean agreement at one k (or the largest there is).

    The diagonal is 1.
    """
    return _matrices(table, k, ["method_a", "method_b"], "agreement", "agreement", 1.0)


def dynamic_matrices(compared: pd.DataFrame, k: int) -> dict[str, pd.DataFrame]:
    """By task, voters by voters: agreement at dynamic k below, less a fixed k above."""
    return _matrices(compared, k, ["a", "b"], "dynamic", "difference", np.nan)


def _matrices(
    table: pd.DataFrame, k: int, pair: list[str], below: str, above: str, diagonal: float
) -> dict:
    """By task, voters by voters: one mean number of each pair below the diagonal, and one above."""
    out = {}
    shown = table[table.k == min(k, table.k.max())]
    for task, part in shown.groupby("task", sort=False):
        names = pd.unique(part[pair].to_numpy().T.ravel())
        values = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(values, diagonal)
        matrix = pd.DataFrame(values, index=names, columns=names)
        for (one, other), rows in part.groupby(pair):
            matrix.loc[other, one] = rows[below].mean()
            matrix.loc[one, other] = rows[above].mean()
        out[task] = matrix.rename(index=voter_title, columns=voter_title)
    return out


@by_run("group voters k agreement low high instances")
def group_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run, group of methods and k: mean agreement of the group; k = 0 is dynamic k."""
    for group, among in GROUPS.items():
        names = voters(readings, among)
        for row in by_k(step, run, readings, names, DYNAMIC) if len(names) > 1 else ():
            yield group, len(names), *row


@by_run("instance tokens methods methods_dynamic people with_people")
def sentence_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run and instance: tokens, and agreement of all six, of people, and with them.

    with_people: mean over methods, at the fixed k. people: agreement of each person's own tokens.
    """
    spec = step.profile.agreement
    names = voters(readings)
    for r in readings if names else ():
        fixed = r.agreement_at_k(names, spec.fixed_k, spec)
        dynamic = r.agreement_at_k(names, DYNAMIC, spec)
        people = agreement_of(list(r.marks > 0)) if r.marked else np.nan
        together = [
            r.agreement_at_k((m, PEOPLE), spec.fixed_k, spec) if r.marked else np.nan for m in names
        ]
        yield r.instance, len(r.tokens), fixed, dynamic, people, np.mean(together)


@by_run("length k agreement chance instances")
def length_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run, length of texts and k: agreement of all six (appendix C), and by chance."""
    spec = step.profile.agreement
    names = voters(readings)
    for length in LENGTHS if names else ():
        inside = [r for r in readings if abs(len(r.tokens) - length) <= spec.length_tolerance]
        for k in range(1, spec.largest_k + 1) if inside else ():
            values = [r.agreement_at_k(names, k, spec) for r in inside]
            by_chance = [agreement_at_k([np.zeros(len(r.tokens))] * len(names), k) for r in inside]
            yield length, k, np.mean(values), np.mean(by_chance), len(inside)


@by_run("a b k dynamic low high fixed difference± instances undefined")
def dynamic_against_fixed(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run, pair of voters and fixed k: agreement at dynamic k, at that k, difference.

    difference: dynamic minus fixed, over the instances where dynamic agreement is defined;
    undefined counts the others, where neither voter has a peak. Instances that nobody marked do not
    count for people.
    """
    spec = step.profile.agreement
    ks = range(1, max(COMPARED, spec.fixed_k) + 1)
    for pair in combinations(voters_and_people(readings), 2):
        used = shared_readings(readings, *pair)
        dynamic = agreements(used, [pair], DYNAMIC, spec)
        fixed = np.array([[r.agreement_at_k(pair, k, spec) for k in ks] for r in used])
        both = np.column_stack([dynamic, dynamic[:, None] - fixed])
        own, *differences = mean_with_interval(step, both, run).T
        for k, of_k, difference in zip(ks, fixed.T, differences, strict=True):
            yield *pair, k, *own, of_k.mean(), *difference, len(used), np.isnan(dynamic).sum()


@table_of("task model seed method k improvement least most")
def improvement_table(step: Step, compared: pd.DataFrame) -> Iterator[tuple]:
    """One row a run, method and fixed k: what dynamic k improves over its pairs (Table 1).

    The released code ends before its last step; `agreement.improvement` names what is done with a
    method's pairs.
    """
    pairs = compared[(compared.b != PEOPLE) & (compared.k <= IMPROVED)]
    least = 0 if step.profile.agreement.improvement == "positive" else None
    for run, part in pairs.groupby(RUN, sort=False):
        for method in dict.fromkeys([*part.a, *part.b]):
            own = part[(part.a == method) | (part.b == method)]
            for k, difference in own.groupby("k").difference:
                added = difference.clip(lower=least).sum()
                yield *run, method, k, added, difference.min(), difference.max()


@by_run("voter k low high sd without instances")
def dynamic_k_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run and voter: mean and spread of dynamic k, and the share without a peak."""
    for voter in voters_and_people(readings):
        used = shared_readings(readings, voter)
        counts = np.array([r.peaks(voter, step.profile.agreement).sum() for r in used])
        interval = mean_with_interval(step, counts, run)
        yield voter, *interval, counts.std(), (counts == 0).mean(), len(used)


@by_run("a b expected drawn draws_sd farthest instances")
def tie_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run and pair of voters at the fixed k: by expectation, and by random tie-breaks.

    The released code breaks ties at random.

    draws_sd: of the data set's mean over draws. farthest: the largest distance of a draw from the
        expectation.
    """
    spec = step.profile.agreement.changed(ties="expectation", people="top_k")
    for pair in combinations(voters_and_people(readings), 2):
        used = shared_readings(readings, *pair)
        exact = agreements(used, [pair], spec.fixed_k, spec).mean()
        drawn = [agreements(used, [pair], spec.fixed_k, spec, at) for at in range(spec.tie_draws)]
        draws = np.mean(drawn, axis=1)
        yield *pair, exact, draws.mean(), draws.std(), np.abs(draws - exact).max(), len(used)


@by_run("method sign fixed dynamic people_fixed people_dynamic k instances")
def sign_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run, signed method and sign: agreement with people and the other methods."""
    spec = step.profile.agreement
    names = voters(readings)

    def agree(pairs: list[tuple[str, str]], readings: VotedTexts) -> tuple[float, float]:
        if not readings:
            return np.nan, np.nan
        dynamic = agreements(readings, pairs, DYNAMIC, spec)
        return agreements(readings, pairs, spec.fixed_k, spec).mean(), np.nanmean(dynamic)

    for method in (name for name in names if METHODS[name].signed):
        unsigned = f"{method}_unsigned"
        both = [
            replace(r, scores=r.scores | {unsigned: np.abs(r.scores[method])}) for r in readings
        ]
        for sign, voter in (("signed", method), ("unsigned", unsigned)):
            with_others = agree([(voter, other) for other in names if other != method], both)
            with_people = agree([(voter, PEOPLE)], marked(both))
            k = np.mean([r.peaks(voter, spec).sum() for r in both])
            yield method, sign, *with_others, *with_people, k, len(readings)


@by_run("rule voter k without agreement instances")
def rule_table(step: Step, run: Run, readings: VotedTexts) -> Iterator[tuple]:
    """One row a run, rule of dynamic k and voter: mean k, share without a peak, agreement."""
    names = voters(readings)
    for rule in PEAK_RULES:
        spec = step.profile.agreement.changed(peaks=rule)
        for voter in names:
            counts = np.array([r.peaks(voter, spec).sum() for r in readings])
            pairs = [(voter, other) for other in names if other != voter]
            agreed = agreements(readings, pairs, DYNAMIC, spec)
            mean = np.nanmean(agreed) if np.isfinite(agreed).any() else np.nan
            yield rule, voter, counts.mean(), (counts == 0).mean(), mean, len(readings)
