"""A whole trial: metrics in all worlds beside nulls, and attributions beside those of methods."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.methods import METHODS as KNOWN
from attreval.metrics.metric import Metric, metric
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.separation import MUST
from attreval.trial.exchange import (
    GivenRows,
    TheirValues,
    check_metric,
    read_metrics,
    read_theirs,
    read_values,
)
from attreval.trial.explainers import EXPLAINERS, real_methods
from attreval.trial.measure import (
    COLUMNS,
    TRIED,
    Say,
    Trial,
    check_values,
    known_worlds,
    try_metrics,
)
from attreval.trial.verdict import matrix_table, short_list, verdicts_by_metric

COMPARISON = ("nc", "ns", "soft_nc", "soft_nc_equal")  # what a metric of one's own stands beside
TEXTS = 30
# metrics that say nothing of an explanation: what a trial must condemn, beside whatever else it
# tries
_null = partial(metric, judge="", source="null", needs=("scores",), higher_is_better=True)


@_null("Null: random number")
def random_number(text: ScoredText, method: str) -> float:
    """A number drawn for a text and an explanation."""
    return float(generator("null", *text.names_of(method)).random())


@_null("Null: always one half")
def one_half(text: ScoredText, method: str) -> float:
    """The same number for every explanation."""
    return 0.5


@_null("Null: largest score", range=(float("-inf"), np.inf))
def largest_score(text: ScoredText, method: str) -> float:
    """The largest score, whatever word has it."""
    return float(text.scores[method].max())


NULLS = {one.name: one for one in (random_number, one_half, largest_score)}


@dataclass(frozen=True)
class Result:
    """A trial with its verdicts.

    metrics: by name, with nulls and those of one's own (`own`). texts: of each world. theirs:
    methods whose scores were made elsewhere.
    """

    trial: Trial
    metrics: Mapping[str, Metric]
    worlds: tuple[str, ...]
    texts: int
    own: tuple[str, ...]
    theirs: tuple[str, ...]

    @cached_property
    def matrix(self) -> pd.DataFrame:
        """One row a metric and world; see `verdict.matrix_table`."""
        return matrix_table(self.trial)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row a metric; see `verdict.verdicts_by_metric`."""
        return verdicts_by_metric(self.matrix, self.metrics)

    @cached_property
    def short(self) -> pd.DataFrame:
        """One row a question and metric to use for it; see `verdict.short_list`."""
        others = {name: one for name, one in self.metrics.items() if name not in NULLS}
        return short_list(self.matrix[~self.matrix.metric.isin(NULLS)], others)

    @cached_property
    def standing(self) -> pd.DataFrame:
        """Where each metric puts the explanations of methods, and one's own, mean over worlds.

        place: 0 for random scores, 1 for the truth, by means over the texts of a world. Worlds in
        which the two are the same to the metric are left out.
        """
        cells = self.trial.values.groupby(["metric", "world", "explainer"], sort=False)
        means = cells.value.mean().unstack()
        gap = (means["oracle"] - means["random"]).where(lambda x: x.abs() > 1e-9)
        real = [name for name in means if name not in EXPLAINERS]
        if not real:
            return pd.DataFrame(columns=["metric", "explainer", "place"])
        places = means[real].sub(means["random"], axis=0).div(gap, axis=0).clip(-2, 2)
        found = places.groupby("metric", sort=False).mean().reset_index()
        return found.melt("metric", var_name="explainer", value_name="place")


def pick_metrics(names: Sequence[str] | None, own: Mapping[str, Metric]) -> dict[str, Metric]:
    """Metrics by name: one's own, those named (`all` for all) or a few to compare, and nulls."""
    known = TRIED | NULLS
    named = list(TRIED) if list(names or ()) == ["all"] else list(names or COMPARISON)
    if unknown := [name for name in named if name not in known]:
        raise ValueError(f"unknown metric {unknown[0]!r}; there are: all, {', '.join(known)}")
    others = {name: known[name] for name in named} | NULLS
    if taken := [name for name in own if name in others]:
        raise ValueError(
            f"the metric {taken[0]!r} has the name of one that it is compared with; give it another"
        )
    return {**own, **others}


def run_trial(
    file: Path | str | None = None,
    metrics: Sequence[str] | None = None,
    worlds: Sequence[str] | None = None,
    attributions: Path | str | None = None,
    texts: int | None = None,
    seed: int | None = None,
    corpora: str | None = None,
    say: Say = print,
    values: Path | str | None = None,
) -> Result:
    """Try metrics in worlds whose truth is known.

    Args:
        file: A Python file with metrics of one's own.
        metrics: Names of others; `["all"]` for all; a few for comparison where not given.
        worlds: All that can be made where not given; those of the attributions or values, where
            these are given.
        attributions: Scores made elsewhere, see `attreval.trial.exchange`.
        texts: Of each world, 30 where neither this nor a file says.
        seed: Drawn anew where neither this nor a file says.
        corpora: The folder of the corpora.
        say: Is told each step.
        values: What metrics elsewhere said of the scores of `export_worlds`.

    Raises:
        ValueError: For a name that is not known, a metric that cannot be tried or fails, or
            attributions or values that do not fit.
    """
    own = read_metrics(file) if file else {}
    files: list[GivenRows] = []
    given = {}
    said = None
    if attributions:
        theirs = read_theirs(attributions, seed)
        given = theirs.scores
        files.append(theirs.file)
    if values:
        said = read_values(values, files[0].seed if files else seed)
        own |= said.metrics
        files.append(said.file)
    picked = pick_metrics(metrics, own)
    for name, one in picked.items():
        check_metric(one, name)
    if files:
        named = dict.fromkeys(row["world"] for one in files for _, row in one.rows)
        worlds = worlds or list(named)
        texts = texts or max(one.texts for one in files)
        seed = files[0].seed
    texts = texts or TEXTS
    seed = draw_seed() if seed is None else seed
    asked = known_worlds(worlds, corpora)
    say(f"seed {seed}: the same worlds again with --seed {seed}")
    trial = try_metrics(
        {name: one for name, one in picked.items() if said is None or name not in said.metrics},
        texts,
        worlds=asked,
        explainers=tuple(EXPLAINERS),
        seed=seed,
        methods=real_methods(),
        given=given,
        corpora=corpora,
        say=say,
    )
    if said is not None:
        trial = add_values(trial, said)
    methods = dict.fromkeys(method for _, method in given)
    return Result(trial, picked, tuple(asked), texts, tuple(own), tuple(methods))


def add_values(trial: Trial, said: TheirValues) -> Trial:
    """A trial with what metrics elsewhere gave in its worlds, NaN for texts that they left out.

    Raises:
        ValueError: Values are of a text or an explanation that the trial has not, or there are none
            of the truth, random scores or its reverse, or no number for the truth.
    """
    table = said.table[said.table.world.isin(trial.values.world)]
    where = ["world", "explainer", "text"]
    ours = trial.values[trial.values.metric == one_half.name]
    places = ours.drop(columns=["metric", "value", "sign"])
    if len(lost := table[~table.set_index(where).index.isin(places.set_index(where).index)]):
        one = lost.iloc[0]
        raise ValueError(
            f"a value of {one.metric!r} is for {one.explainer!r} on {one.text!r}, which this trial "
            f"has not; its worlds have {len(places)} lines in scores.jsonl, such as "
            f"{places.explainer.iloc[0]!r} on {places.text.iloc[0]!r}"
        )
    held = []
    for (name, world), part in table.groupby(["metric", "world"], sort=False):
        if lacking := {"oracle", *MUST} - set(part.explainer):
            raise ValueError(
                f"{name!r} has no value for {sorted(lacking)[0]!r} in {world!r}; a verdict needs "
                f"oracle, {', '.join(MUST)}, and what misleads"
            )
        asked = places[(places.world == world) & places.explainer.isin(part.explainer)]
        found = asked.merge(part[[*where, "value"]], on=where, how="left")
        held.append(found.assign(metric=name, sign=said.metrics[name].sign))
    theirs = pd.concat(held)[COLUMNS]
    check_values(theirs)
    return replace(trial, values=pd.concat([theirs, trial.values], ignore_index=True))


def draw_seed() -> int:
    """A new random seed."""
    return secrets.randbelow(10**6)


def closeness_table(result: Result) -> pd.DataFrame:
    """How close methods, and one's own, come to the truth in each world, mean over texts."""
    found = result.trial.truths[~result.trial.truths.explainer.isin(EXPLAINERS)]
    if found.empty:
        return pd.DataFrame(index=pd.Index([], name="world"))
    table = found.pivot_table(index="world", columns="explainer", values="closeness", sort=False)
    return table[[*result.theirs, *(name for name in table if name not in result.theirs)]]


def headline(result: Result) -> list[str]:
    """What came of it, in sentences: of one's own metrics, the others, and attributions."""
    table = result.verdicts.set_index("metric")
    said = []
    for name in result.own:
        why = f" It {table.why[name]}." if table.why[name] else ""
        passed = f"{table.passed[name]} of {table.worlds[name]} worlds"
        said.append(f"{table.title[name]}: {table.verdict[name]} ({passed}).{why}")
    condemned = [table.title[name] for name in table.index if table.verdict[name] == "condemned"]
    said.append(f"Condemned: {', '.join(condemned) or 'none'}.")
    close = closeness_table(result)
    for name in result.theirs:
        right = f"right on {np.nanmean(close[name]):.0%} of pairs of words of different truth"
        others = close.drop(columns=list(result.theirs)).mean()
        told = ""
        if len(others):
            best = KNOWN[others.idxmax()].title
            told = f"; the best method here, {best}, is right on {others.max():.0%}"
        said.append(f"{name}: {right} (chance: 50%){told}.")
    return said
