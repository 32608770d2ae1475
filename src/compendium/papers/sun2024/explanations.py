"""Makes and stores token, token-pair and span-pair explanations (Sun et al. 2024, section 3.2).

How close does each pair method come to exact values, on short inputs where every coalition of units
is asked? There are two: Bivariate Shapley (Masoomi et al. 2023) without sampling, which includes
half of each unit's own effect, and the Shapley interaction index (Grabisch & Roubens 1999), which
is 0 where effects of units are additive. n: units.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attreval.core.records import Attribution, Instance
from attreval.core.seeds import Rng, generator
from attreval.core.tables import read_by_instance, write_attributions, write_tokens
from attreval.core.units import all_coalitions, find_units
from attreval.methods import METHODS, TECHNIQUES
from attreval.methods.attention import choose_head
from attreval.methods.method import Budget
from attreval.methods.proxyspex import (
    FEWEST_COALITIONS,
    banzhaf_interactions,
    draw_uniform,
    fit_interactions,
)
from attreval.methods.run import Explained, attribution, explain_instances, predict, records_of
from attreval.methods.shapley import (
    CoalitionGame,
    ask_values,
    bivariate_values,
    draw_coalitions,
)
from attreval.methods.spans import pair_scores
from attreval.models.classifier import Classifier
from attreval.models.scorer import Scorer
from compendium import corpora
from compendium.config import Profile, Run
from compendium.papers.common.runs import TYPED, one_by_one
from compendium.papers.common.tables import table_of
from compendium.papers.pipeline.explaining import open_scorer, precision_table, sum_costs
from compendium.project import Results
from compendium.workflow.step import Step

HEAD_CHOICES = ("per_class", "class_mean", "one_for_all")  # the first is the paper's


@dataclass(frozen=True)
class TypedExplanations:
    """The tables of one part.

    cost: of each method. precision: of `precision_table`. instances: one row an instance and
    method. example: the first features of one instance. heads: the head that attention is taken
    from, by instance and choice.
    """

    cost: pd.DataFrame
    precision: pd.DataFrame
    instances: pd.DataFrame
    example: pd.DataFrame
    heads: pd.DataFrame


def budget_of_types(profile: Profile, task: str) -> Budget:
    """The budget of methods of units, pairs and spans on a task."""
    return profile.explaining_of(task).changed(units=profile.diagnosis.units)


def explain_types(step: Step) -> TypedExplanations:
    """Explain one part of the instances and write the attributions.

    Evaluated instances are explained by every technique, those that only agents see by the agents'
    techniques.
    """
    given = step.parameters
    profile = step.profile
    settings = profile.diagnosis
    if given.part >= settings.parts:
        raise ValueError(
            f"there is no part {given.part}; profile {profile.name!r} has {settings.parts}, from 0"
        )
    scorer = open_scorer(step)
    of_agents = settings.agents.rows_of(given.task)
    every = corpora.load_task(given.task, "test", max(settings.rows, of_agents))
    names = ("levels", *given.run()[:3])
    budget = budget_of_types(profile, given.task)
    evaluated = every[: settings.rows][given.part :: settings.parts]
    for_agents = every[settings.rows : of_agents][given.part :: settings.parts]
    methods = _methods_of(settings.techniques)
    explained = []
    if evaluated:
        explained += explain_instances(
            scorer, evaluated, methods, budget, names, notify=step.progress("explaining")
        )
    if for_agents:
        asked = _methods_of(settings.agents.techniques)
        show = step.progress("explaining for agents")
        explained += explain_instances(scorer, for_agents, asked, budget, names, notify=show)
    attributions = step.results.typed_attributions(*given.run())
    tokens = step.results.typed_tokens(*given.run())
    write_attributions(attributions, records_of(explained))
    write_tokens(tokens, {e.instance.id: e.tokens for e in explained})
    step.files += [attributions, tokens]
    fully = [e for e in explained if len(e.attributions) == len(methods)]
    cost = sum_costs(records_of(fully), scorer.costs["prediction"], len(fully))
    precision = precision_table(scorer, evaluated, methods, budget, names, "predicted")
    return TypedExplanations(
        cost=cost[cost.method != "prediction"],
        precision=precision,
        instances=_explained_table(explained),
        example=_first_features(fully[0]),
        heads=_explain_by_other_heads(step, scorer, explained, budget, names),
    )


@table_of("instance label predicted tokens method pieces gap")
def _explained_table(explained: list[Explained]) -> Iterator[tuple]:
    """One row an instance and method."""
    for e in explained:
        about = (e.instance.id, e.instance.label, e.predicted, len(e.tokens.content))
        for method, record in e.attributions.items():
            yield *about, method, len(record.scores), abs(record.gap)


def _explain_by_other_heads(
    step: Step, scorer: Scorer, explained: list[Explained], budget: Budget, names: tuple
) -> pd.DataFrame:
    """Write attention explanations by heads chosen otherwise, and list all chosen heads."""
    methods = set(TECHNIQUES["attention"].values())
    by_head = [e for e in explained if methods <= set(e.attributions)]
    rows = []
    made: dict[str, list[Attribution]] = {choice: [] for choice in HEAD_CHOICES[1:]}
    show = step.progress("explaining by other heads")
    for start in range(0, len(by_head), 8):
        part = by_head[start : start + 8]
        for choice in HEAD_CHOICES:
            own = budget.changed(units=budget.units.changed(head_choice=choice))
            asked = [("heads", choose_head(e.tokens, e.predicted, own.units)) for e in part]
            for e, head in zip(part, scorer.converse(asked), strict=True):
                rows.append((e.instance.id, choice, head))
            if choice in made:
                made[choice] += _attend(scorer, part, own, names)
        scorer.forget()
        show(start + len(part), len(by_head))
    given = step.parameters
    for choice, records in made.items() if by_head else ():
        path = step.results.typed_attributions(*given.run()[:3], f"{given.part}-{choice}")
        write_attributions(path, records)
        step.files.append(path)
    return pd.DataFrame(rows, columns=["instance", "head_choice", "head"])


def _attend(
    scorer: Scorer, part: list[Explained], budget: Budget, names: tuple
) -> list[Attribution]:
    """Attention explanations of all types of instances that have been explained."""
    jobs = [(e, method) for e in part for method in TECHNIQUES["attention"].values()]
    talks = []
    for e, method in jobs:
        rng = generator(*names, e.instance.id, METHODS[method].draws or method)
        talks.append(
            (
                f"{e.instance.id}\x1f{method}",
                METHODS[method].converse(e.tokens, e.predicted, budget, rng),
            )
        )
    return [
        attribution(e.instance, e.tokens, method, e.predicted, scores, scorer.costs.pop(account))
        for (e, method), (account, _), scores in zip(
            jobs, talks, scorer.converse(talks), strict=True
        )
    ]


def load_head_attributions(
    results: Results, profile: Profile, *run: *Run
) -> tuple[dict[str, pd.Series], dict[str, dict[str, dict[str, Attribution]]]]:
    """(choice -> head of each instance, choice -> instance id -> method -> record).

    Records of the paper's choice are those of load_typed_attributions. FileNotFoundError:
    07_sun2024_explanations has not run; it says how it does.
    """
    parts = range(profile.diagnosis.parts)
    heads = pd.concat([results.read_table("heads", TYPED, *run, part) for part in parts])
    others = {}
    for choice in HEAD_CHOICES[1:]:
        paths = [results.typed_attributions(*run, f"{part}-{choice}") for part in parts]
        others[choice] = read_by_instance(*(results.existing(path, TYPED) for path in paths))
    return {
        choice: own.set_index("instance")["head"] for choice, own in heads.groupby("head_choice")
    }, others


def _methods_of(techniques: Iterable[str]) -> list[str]:
    return [method for technique in techniques for method in TECHNIQUES[technique].values()]


@table_of("method rank piece score")
def _first_features(explained: Explained) -> Iterator[tuple]:
    """The first three features of every method on one instance, as texts."""
    tokens = explained.tokens
    for method, record in explained.attributions.items():
        for rank, i in enumerate(np.argsort(-record.scores, kind="stable")[:3], start=1):
            sides = defaultdict(list)
            for p in record.features[i]:
                sides[tokens.offsets[p, 0]].append(tokens.texts[p])
            text = " | ".join(" ".join(side) for side in sides.values())
            yield METHODS[method].title, rank, text, record.scores[i]


LOOKED_THROUGH = 4000  # test instances among which short ones are looked for


def shapley_interactions(values: np.ndarray) -> np.ndarray:
    """(n, n) Shapley interaction indices from the (2^n,) values of all coalitions; diagonal 0."""
    n = int(np.log2(len(values)))
    sizes = all_coalitions(n).sum(axis=1)
    weights = np.array([1 / ((n - 1) * comb(n - 2, size)) for size in range(n - 1)])
    rows = np.arange(len(values))
    out = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        one = 1 << i
        other = 1 << j
        free = rows[rows & (one | other) == 0]
        gains = (
            values[free | one | other] - values[free | one] - values[free | other] + values[free]
        )
        out[i, j] = out[j, i] = weights[sizes[free]] @ gains
    return out


def bivariate_from_values(values: np.ndarray, samples: int, rng: Rng) -> np.ndarray:
    """(n, n) phi(i|j) from a sample of coalitions, whose (2^n,) values are looked up.

    Exact for 2^n samples.
    """
    n = int(np.log2(len(values)))
    masks, weights = draw_coalitions(n, samples, rng)
    found = values[masks @ (1 << np.arange(n))]
    return bivariate_values(CoalitionGame(masks, weights, found, values[0], values[-1]))


def proxyspex_from_values(values: np.ndarray, samples: int, rng: Rng) -> np.ndarray:
    """(n, n) interactions by ProxySPEX from coalitions whose (2^n,) values are looked up.

    Exact for 2^n samples.
    """
    n = int(np.log2(len(values)))
    seed = int(rng.integers(2**31))
    if len(values) <= samples:
        return banzhaf_interactions(all_coalitions(n), values)
    masks = draw_uniform(n, samples, seed)
    return fit_interactions(masks, values[masks @ (1 << np.arange(n))], seed)


def short_instances(
    task: str, model: Classifier, unit: str, most: int, rows: int
) -> list[Instance]:
    """The first test instances of at most so many units, at least two of them in each part."""

    def short(instance: Instance) -> bool:
        units = find_units(model.tokens(instance), unit)
        return len(units) <= most and min(np.bincount(units.side, minlength=2)) >= 2

    few_words = (
        one for one in corpora.load_task(task, "test", LOOKED_THROUGH) if len(one.words) <= most
    )
    return list(islice(filter(short, few_words), rows))


@table_of("instance units estimate samples exact spearman pearson error")
def compare_with_exact(step: Step) -> Iterator[tuple]:
    """One row per instance, estimate and exact value: correlations and mean absolute error.

    Estimates: Bivariate Shapley at each budget; ProxySPEX, if installed, at those that it can use;
    the pair methods of the other techniques. Exact: `bivariate` values, and the size of the
    `interaction` index, compared with the size of the estimates. Errors are given where estimate
    and exact value are the same quantity.
    """
    task = step.parameters.task
    settings = step.profile.diagnosis
    oracle = settings.oracle
    if not oracle.rows or step.parameters.part:
        return
    scorer = open_scorer(step)
    instances = short_instances(task, scorer.model, settings.units.unit, oracle.units, oracle.rows)
    for instance in one_by_one(step, "asking every coalition", instances):
        yield from _compare(step, scorer, instance)
        scorer.forget()


def _compare(step: Step, scorer: Scorer, instance: Instance) -> Iterator[tuple]:
    given = step.parameters
    settings = step.profile.diagnosis
    budget = budget_of_types(step.profile, given.task)
    others = [
        TECHNIQUES[technique]["pair"] for technique in settings.techniques if technique != "shapley"
    ]
    tokens = scorer.model.tokens(instance)
    units = find_units(tokens, settings.units.unit)
    target = int(predict(scorer, [tokens])[0].argmax())
    rng = generator("oracle", *given.run()[:3], instance.id)
    talks = [("oracle", ask_values(tokens, target, units, all_coalitions(len(units))))]
    talks += [(m, METHODS[m].converse(tokens, target, budget, rng)) for m in others]
    values, *found = scorer.converse(talks)

    exact = pair_scores(
        units, bivariate_from_values(values, len(values), generator("every"))
    ).values
    interaction = np.abs(pair_scores(units, shapley_interactions(values)).values)
    estimates = {}
    for samples in settings.oracle.samples:
        draws = ("oracle", instance.id, samples)
        sampled = bivariate_from_values(values, samples, generator(*draws))
        estimates["bivariate_shapley", samples] = pair_scores(units, sampled).values
        if samples >= FEWEST_COALITIONS and not METHODS["proxyspex"].missing():
            fitted = proxyspex_from_values(values, samples, generator(*draws))
            estimates["proxyspex", samples] = pair_scores(units, fitted).values
    estimates |= {(method, 0): scores.values for method, scores in zip(others, found, strict=True)}
    for (name, samples), guess in estimates.items():
        error = np.abs(guess - exact).mean() if name == "bivariate_shapley" else np.nan
        names = (instance.id, len(units), name, samples)
        yield (*names, "bivariate", *_correlations(guess, exact), error)
        yield (*names, "interaction", *_correlations(np.abs(guess), interaction), np.nan)


def _correlations(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Spearman's and Pearson's correlation; NaN where one of them does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan, np.nan
    return spearmanr(a, b).statistic, np.corrcoef(a, b)[0, 1]


def mean_closeness(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Means over instances of `compare_with_exact`, by estimate, budget and exact value.

    by: further columns to part them by.
    """
    keys = [*by, "estimate", "samples", "exact"]
    out = table.groupby(keys, sort=False)[["spearman", "pearson", "error"]].mean().reset_index()
    return out.assign(instances=table.instance.nunique())
