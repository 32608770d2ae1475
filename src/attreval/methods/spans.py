"""Pairs of spans by Louvain's method (Blondel et al. 2008), from the scores of pairs of units.

Units are nodes; the score of a pair across the parts is the weight of its edge. Neighbouring words
of one community are a span, and every span of one part forms a pair with every span of the other
part in the same community (Ray Choudhury et al. 2023; Sun et al. 2024, section 3.2). Rules other
than Louvain's are options.
Letters used for shapes: n units.
"""

import random
from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import networkx as nx
import numpy as np

from attreval.core.records import Tokens
from attreval.core.units import Units, find_runs, find_units
from attreval.methods.method import Rng, Scores, UnitSettings

Communities = list[set[int]]
UNLINKED = "all scores are 0: no pair of words scores above 0, so there are no spans"
ALONE = (
    "all scores are 0: pairs of spans are scored, and no two stretches of words that lie apart "
    "belong together here"
)


class _InOrder(random.Random):
    """A source of chance that shuffles nothing: networkx visits nodes in the order of the graph."""

    def shuffle(self, x: Any) -> None:
        """Leave it as it is."""


def louvain(graph: nx.DiGraph, seed: int) -> Communities:
    """Louvain's communities, by directed modularity; nodes take turns in text order.

    Networkx shuffles them, by a seed, and would make other spans of one text at another seed.
    """
    return nx.community.louvain_communities(graph, seed=_InOrder())


def louvain_first_level(graph: nx.DiGraph, seed: int) -> Communities:
    """Louvain's first level, beyond which the code of Ray Choudhury et al. (2023) never goes."""
    return next(nx.community.louvain_partitions(graph, seed=_InOrder()))


def greedy_modularity(graph: nx.DiGraph, seed: int) -> Communities:
    """Communities merged one by one where modularity gains most (Clauset et al. 2004)."""
    return list(nx.community.greedy_modularity_communities(graph, weight="weight"))


def label_propagation(graph: nx.DiGraph, seed: int) -> Communities:
    """Every node takes the label that weighs most among its neighbours, until nothing changes."""
    return list(
        nx.community.asyn_lpa_communities(graph.to_undirected(), weight="weight", seed=seed)
    )


def strongest_link(graph: nx.DiGraph, seed: int) -> Communities:
    """Every unit goes with the one across that it scores highest with, without modularity."""
    links = nx.Graph()
    links.add_nodes_from(graph)
    for node in graph:
        weight: dict[int, float] = {}
        for other in nx.all_neighbors(graph, node):
            there = graph.get_edge_data(node, other, {"weight": 0})
            back = graph.get_edge_data(other, node, {"weight": 0})
            weight[other] = there["weight"] + back["weight"]
        if weight:
            links.add_edge(node, max(weight, key=weight.__getitem__))
    return list(nx.connected_components(links))


RULES: dict[str, Callable[[nx.DiGraph, int], Communities]] = {
    rule.__name__: rule
    for rule in (louvain, louvain_first_level, greedy_modularity, label_propagation, strongest_link)
}


def pair_scores(units: Units, matrix: np.ndarray) -> Scores:
    """Scores of pairs of units: the mean of both directions of an (n, n) matrix."""
    pairs = units.pairs()
    a, b = pairs.T
    features = [tuple(units.covered(pair).tolist()) for pair in pairs]
    return Scores((matrix[a, b] + matrix[b, a]) / 2, features=tuple(features))


def pair_graph(units: Units, matrix: np.ndarray, drop_last: bool = False) -> nx.DiGraph:
    """The graph of a matrix: an edge where a pair across the parts scores above 0, per direction.

    Nodes stand in text order. Modularity knows no negative weights, so these pairs have no edge;
    their scores stay.

    Args:
        units: The n units.
        matrix: (n, n) scores.
        drop_last: Leave out the last unit of each part, as the code of Ray Choudhury et al. (2023)
            does.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(units)))
    for pair in units.pairs().tolist():
        for i, j in permutations(pair):
            if matrix[i, j] > 0:
                graph.add_edge(i, j, weight=float(matrix[i, j]))
    if drop_last:
        for side in np.unique(units.side):
            last = np.flatnonzero(units.side == side)[-1]
            graph.remove_edges_from([*graph.in_edges(last), *graph.out_edges(last)])
    return graph


def find_communities(
    units: Units, matrix: np.ndarray, settings: UnitSettings, rng: Rng
) -> Communities:
    """Communities of units, in order of their first unit; none where no pair scores above 0.

    Args:
        units: The n units.
        matrix: (n, n) scores.
        settings: Which rule finds them.
        rng: Seeds rules that draw.
    """
    graph = pair_graph(units, matrix, settings.louvain_drop_last)
    if not graph.number_of_edges():
        return []
    found = RULES[settings.span_rule](graph, int(rng.integers(2**31)))
    return sorted(map(set, found), key=min)


def _stretches(
    tokens: Tokens, units: Units, community: set[int]
) -> list[tuple[int, tuple[int, ...]]]:
    """(part, token positions) of each stretch of words that lie whole in a community."""
    inside = set(units.covered(community).tolist())
    words = find_units(tokens, "word")
    whole = [at for at, group in enumerate(words.groups) if inside.issuperset(group)]
    runs = find_runs(whole, lambda a, b: a + 1 == b and words.side[a] == words.side[b])
    out = []
    for start, end in runs:
        positions = words.covered(whole[start:end])
        out.append((int(words.side[whole[start]]), tuple(positions.tolist())))
    return out


def find_spans(
    tokens: Tokens, units: Units, matrix: np.ndarray, settings: UnitSettings, rng: Rng
) -> Scores:
    """Scores of pairs of spans from the scores of pairs of units, or a note why there are none.

    A pair of spans scores the mean over its pairs of units, both directions (Sun et al. 2024,
    appendix D). Spans of one part never overlap, since communities do not.

    Args:
        tokens: The text.
        units: Its n units.
        matrix: (n, n) scores.
        settings: How spans are made.
        rng: Seeds rules that draw.
    """
    both = (matrix + matrix.T) / 2
    at = units.of_position()
    alone = len(np.unique(units.side)) == 1
    features = []
    scores = []
    communities = find_communities(units, matrix, settings, rng)
    for community in communities:
        found = _stretches(tokens, units, community)
        for (side, a), (other, b) in product(found, repeat=2):
            if side < other or (alone and a < b):
                rows = sorted({at[position] for position in a})
                columns = sorted({at[position] for position in b})
                features.append(tuple(sorted(a + b)))
                scores.append(both[np.ix_(rows, columns)].mean())
    missing = ALONE if communities else UNLINKED
    values = np.array(scores, dtype=float)
    return Scores(values, features=tuple(features), note="" if features else missing)
