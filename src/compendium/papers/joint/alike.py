"""Methods that say the same: they order the tokens of a text alike, whatever the network.

Two such methods count as one, so that an order of methods is not one method's place told twice.
"""

from collections.abc import Iterable, Iterator

import networkx as nx
import numpy as np
import pandas as pd

from attreval.metrics.rank_correlation import tau_b
from attreval.metrics.scored_text import RANDOM, ScoredText
from compendium.config import Run
from compendium.papers.common.method_style import name_method
from compendium.papers.common.runs import RUN
from compendium.papers.common.sentences import sentence
from compendium.papers.common.tables import table_of
from compendium.papers.joint.values import COLUMNS

SAME = 0.9  # median tau-b of token scores over texts that every network must reach
PAIR = ["first", "second"]


@table_of("task model seed instance first second tau")
def compare_methods(run: Run, texts: Iterable[ScoredText]) -> Iterator[tuple]:
    """One row a text and pair of methods, random scores left out: tau-b of their token scores."""
    for text in texts:
        methods = [method for method in text.scores if method != RANDOM]
        scores = np.stack([text.scores[method] for method in methods])
        first, second = np.triu_indices(len(methods), k=1)
        for a, b, tau in zip(first, second, tau_b(scores[first], scores[second]), strict=True):
            yield (*run, text.instance.id, methods[a], methods[b], tau)


def pairs_alike(alike: pd.DataFrame) -> pd.DataFrame:
    """One row a pair of methods, most alike first.

    networks: how many have both; lowest, median: of the networks' medians of tau-b over texts;
    same: whether the lowest is above SAME. alike: of `compare_methods`.
    """
    by_network = alike.groupby([*RUN, *PAIR], sort=False).tau.median()
    by_pair = by_network.groupby(PAIR, sort=False)
    found = by_pair.agg(networks="size", lowest="min", median="median").reset_index()
    found = found.sort_values("lowest", ascending=False, kind="stable", ignore_index=True)
    return found.assign(same=found.lowest > SAME)


def merge_same(values: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """The values with one method, their mean, in place of those that say the same.

    So are two that each say the same as a third. Their first by name lends the name.

    Args:
        values: COLUMNS.
        pairs: Of `pairs_alike`.
    """
    named: dict[str, str] = {}
    for group in groups_same(pairs):
        named |= dict.fromkeys(group, group[0])
    one = values.assign(method=values.method.replace(named))
    return one.groupby(COLUMNS[:-1], sort=False).value.mean().reset_index()


def groups_same(pairs: pd.DataFrame) -> list[list[str]]:
    """The methods that say the same, by group. pairs: of `pairs_alike`."""
    graph = nx.Graph(pairs.loc[pairs.same, PAIR].itertuples(index=False, name=None))
    return sorted(map(sorted, nx.connected_components(graph)))


@sentence
def say_alike(pairs: pd.DataFrame) -> str:
    """Which methods are one."""
    groups = [" = ".join(map(name_method, group)) for group in groups_same(pairs)]
    return f"methods that say the same on every network: {'; '.join(groups) or 'none'}"
