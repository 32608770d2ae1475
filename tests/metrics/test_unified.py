"""Units, spans, rankings, budgets, average precision and entropy against slow twins and
scikit-learn.
"""

import math
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import models, pieces
from scipy.stats import entropy as library_entropy
from sklearn.metrics import average_precision_score

from attreval.core.records import Attribution
from attreval.core.seeds import generator
from attreval.core.units import find_units, mean_matrix, unit_scores
from attreval.methods.combined import combine, trim
from attreval.methods.method import Scores, UnitSettings
from attreval.methods.spans import RULES, find_communities, find_spans, pair_graph
from attreval.metrics.unified import complexity, plausibility
from attreval.metrics.unified import faithfulness as diagnosis

WORDS = ["the", "film", "unbelievable", "good", "was", ",", "slow", "plot"]
part = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
seeds = st.integers(0, 999)
SETTINGS = UnitSettings(unit="word")


def read(tiny, first, second, unit="word"):
    tokens = tiny.tokens(models.instance(first, second))
    return tokens, find_units(tokens, unit)


def some_matrix(units, seed, kind="signed"):
    """(n, n) scores of pairs: signed, positive, with ties, or all 0."""
    rng = np.random.default_rng(seed)
    n = len(units)
    return {
        "signed": rng.normal(size=(n, n)),
        "positive": rng.random((n, n)),
        "ties": rng.integers(0, 3, (n, n)).astype(float),
        "zero": np.zeros((n, n)),
    }[kind]


kinds = st.sampled_from(["signed", "positive", "ties", "zero"])


@given(first=part, second=part, seed=seeds)
def test_pairs_of_words_take_the_mean_or_the_largest_of_their_pieces(tiny, first, second, seed):
    tokens, units = read(tiny, first, second)
    matrix = np.random.default_rng(seed).normal(size=(len(tokens), len(tokens)))
    for by, of in (("mean", np.mean), ("max", np.max)):
        found = mean_matrix(matrix, units, by)
        for (a, g), (b, h) in product(enumerate(units.groups), repeat=2):
            np.testing.assert_allclose(
                found[a, b], of([matrix[i, j] for i in g for j in h]), atol=1e-12
            )


@settings(max_examples=60)
@given(
    first=part,
    second=part,
    seed=seeds,
    kind=kinds,
    rule=st.sampled_from(list(RULES)),
    unit=st.booleans(),
)
def test_spans_are_runs_of_whole_words_of_one_community(
    tiny, first, second, seed, kind, rule, unit
):
    tokens, units = read(tiny, first, second, "word" if unit else "subword")
    matrix = some_matrix(units, seed, kind)
    made = UnitSettings(unit="word" if unit else "subword", span_rule=rule)
    found, again = (find_spans(tokens, units, matrix, made, generator("x", seed)) for _ in range(2))
    assert found.features == again.features and (found.values == again.values).all()
    communities = find_communities(units, matrix, made, generator("x", seed))
    words = find_units(tokens, "word")
    by_side = {
        s: [g for g, side in zip(words.groups, words.side, strict=True) if side == s]
        for s in (0, 1)
    }
    inside = [set(units.covered(c).tolist()) for c in communities]
    assert sorted(map(list, found.features)) == pieces.spans(tokens, inside, by_side)
    at = units.of_position()
    for feature, score in zip(found.features, found.values, strict=True):
        a, b = ({at[p] for p in feature if tokens.offsets[p, 0] == s} for s in (0, 1))
        np.testing.assert_allclose(
            score, np.mean([(matrix[i, j] + matrix[j, i]) / 2 for i in a for j in b])
        )


def blocks(units, split=(2, 2)):
    """A matrix of two blocks: the first words of each part, and the others."""
    group = np.concatenate([np.arange((units.side == s).sum()) >= split[s] for s in (0, 1)])
    return (group[:, None] == group[None]).astype(float)


def test_two_blocks_are_two_communities(tiny):
    tokens, units = read(tiny, "the film was good", "slow plot , the film")
    at = units.of_position()
    for rule in ("louvain", "greedy_modularity"):
        made = UnitSettings(unit="word", span_rule=rule)
        found = find_spans(tokens, units, blocks(units), made, generator("x"))
        held = sorted(sorted({at[p] for p in feature}) for feature in found.features)
        assert held == [[0, 1, 4, 5], [2, 3, 6, 7, 8]], rule
        assert found.values.tolist() == [1.0, 1.0]


def test_the_graph_knows_no_negative_pairs_and_can_drop_last_units(tiny):
    _, units = read(tiny, "the film", "was good")
    matrix = np.array([[0, 0, 1, -1], [0, 0, 2, 3], [4, 0, 0, 0], [5, 6, 0, 0.0]])
    edges = {(0, 2): 1, (1, 2): 2, (1, 3): 3, (2, 0): 4, (3, 0): 5, (3, 1): 6}
    assert nx.get_edge_attributes(pair_graph(units, matrix), "weight") == edges
    assert set(pair_graph(units, matrix, drop_last=True).edges) == {(0, 2), (2, 0)}
    with pytest.raises(ValueError, match="span_rule"):
        UnitSettings(span_rule="none")


def test_neither_a_seed_nor_the_names_of_nodes_decide_communities(tiny):
    """Nodes take their turns in text order: other names in the same order change nothing."""
    _, units = read(tiny, "the film was not very good , slow", "a brave plot was not bad")
    names = generator("names").permutation(1000)[: len(units)].tolist()
    for rule, seed in product(("louvain", "louvain_first_level"), range(12)):
        graph = pair_graph(units, some_matrix(units, seed, "positive"))
        assert list(graph) == list(range(len(units)))
        found = [RULES[rule](graph, number) for number in range(4)]
        assert all(other == found[0] for other in found)
        renamed = nx.relabel_nodes(graph, dict(enumerate(names)))
        back = [{names.index(name) for name in community} for community in RULES[rule](renamed, 0)]
        assert sorted(back, key=min) == sorted(found[0], key=min)


def span_rankings(units, seed, kind="signed", tokens=None):
    """Rankings of all four types from one matrix."""
    matrix = some_matrix(units, seed, kind)
    rng = generator("rank", seed)
    spans = find_spans(tokens, units, matrix, SETTINGS, rng)
    single = matrix.sum(axis=1)
    joined = combine(tokens, units, Scores(single, features=units.groups), spans)
    at = units.of_position()

    def held(features):
        return [tuple(sorted({at[p] for p in f})) for f in features]

    pairs = [tuple(p) for p in units.pairs().tolist()]
    of_types = {
        "token": ([(u,) for u in range(len(units))], single),
        "pair": (pairs, np.array([matrix[a, b] + matrix[b, a] for a, b in pairs])),
        "span": (held(spans.features), spans.values),
        "combined": (held(joined.features), joined.values),
    }
    return {
        kind: diagnosis.make_ranking(pieces, scores, units, rng)
        for kind, (pieces, scores) in of_types.items()
    }


@settings(max_examples=80)
@given(first=part, second=part, seed=seeds, kind=kinds)
def test_all_types_get_equal_numbers_of_units(tiny, first, second, seed, kind):
    tokens, units = read(tiny, first, second)
    rankings = span_rankings(units, seed, kind, tokens)
    for k in diagnosis.piece_counts(rankings["span"], (), 10):
        sets = diagnosis.match_budget(rankings, k)
        assert sets["span"] == rankings["span"].units(k)
        assert {len(chosen) for chosen in sets.values()} == {len(sets["span"])}
        for kind_of in ("token", "pair"):
            ranked = rankings[kind_of]
            flat = [tuple(u for side in piece for u in side) for piece in ranked.features]
            assert sets[kind_of] == pieces.spend(flat, ranked.scores, len(sets["span"]), ranked.tie)


def test_the_last_pair_gives_up_the_unit_that_is_worth_less_and_thresholds_are_distinct_scores(
    tiny,
):
    _, units = read(tiny, "the film", "was good")
    pairs = [(0, 2), (1, 3), (0, 3), (1, 2)]
    ranked = diagnosis.make_ranking(pairs, np.array([4.0, 3.0, 2.0, 0.5]), units, generator("x"))
    # unit 1 weighs 3.5, unit 3 weighs 5
    assert diagnosis.take_units(ranked, 3) == [((0,), (2,)), ((), (3,))]
    assert diagnosis.features_needed(ranked, 3) == 2
    spans = diagnosis.make_ranking(pairs, np.array([2.0, 1.0, 2.0, 0.0]), units, generator("x"))
    assert plausibility.threshold_counts(spans) == [2, 3, 4]  # no more than there are
    assert diagnosis.piece_counts(spans, (), 3) == [1, 2, 3]
    assert diagnosis.piece_counts(spans, (1, 3, 5), 9) == [1, 3]


def test_equal_scores_are_ordered_by_chance(tiny):
    units = find_units(tiny.tokens(models.instance("the film was good")), "word")
    record = Attribution("x", "random", 0, "token", units.groups, np.zeros(4))
    ranked = [diagnosis.rank_features(record, units, generator("tie", i)) for i in range(60)]
    assert {one.features[0][0][0] for one in ranked} == {0, 1, 2, 3}


def test_scores_of_pieces_are_summed_to_words(tiny):
    tokens, units = read(tiny, "unbelievable film", "slow")
    subwords = [(int(p),) for p in tokens.content]
    found = unit_scores(subwords, np.array([1.0, 2.0, 4.0, 8.0, 16.0]), units)
    assert found.tolist() == [7.0, 8.0, 16.0]
    with pytest.raises(ValueError, match="'letter' is not known; there are: word, subword"):
        find_units(tokens, "letter")


@given(values=st.lists(st.floats(-5, 5), min_size=1, max_size=6))
def test_trimming_keeps_the_best_unit_and_no_low_end(values):
    scores = np.array(values)
    kept = trim(list(range(len(values))), scores)
    assert kept == list(range(kept[0], kept[-1] + 1)) and scores[kept].max() == scores.max()
    assert all(score < scores.mean() for score in [*scores[: kept[0]], *scores[kept[-1] + 1 :]])
    assert len(kept) == 1 or min(scores[kept[0]], scores[kept[-1]]) >= scores.mean()


@given(n=st.integers(1, 9), seed=seeds, ties=st.booleans())
def test_average_precision_of_a_whole_ranking_is_scikit_learns(n, seed, ties):
    rng = np.random.default_rng(seed)
    gold = rng.random(n) < 0.5
    gold[rng.integers(n)] = True
    scores = rng.integers(0, 3, n).astype(float) if ties else rng.permutation(n).astype(float)
    sets = [set(np.flatnonzero(scores >= t).tolist()) for t in np.unique(scores)[::-1]]
    marked = set(np.flatnonzero(gold).tolist())
    found = plausibility.unit_agreement(sets, marked)
    for twin in (average_precision_score(gold, scores), pieces.average_precision(sets, marked)):
        np.testing.assert_allclose(found, twin, atol=1e-12)


@settings(max_examples=40)
@given(first=part, second=part, seed=seeds, rule=st.sampled_from(list(plausibility.MATCHES)))
def test_the_gold_ranking_is_perfect(tiny, first, second, seed, rule):
    tokens, units = read(tiny, first, second)
    spans = span_rankings(units, seed, "positive", tokens)["span"]
    if len(spans):
        gold = list(spans.features)
        features = plausibility.features_at(spans, spans)
        assert plausibility.interaction_agreement(features, gold, rule) == pytest.approx(1.0)
        all_units = diagnosis.units_in(gold)
        sets = plausibility.units_at(spans, spans)
        assert plausibility.unit_agreement(sets, all_units) == pytest.approx(1.0)
        assert math.isnan(plausibility.unit_agreement(sets, set()))
        assert math.isnan(plausibility.interaction_agreement([gold], [], rule))


def test_when_a_piece_is_one_that_people_gave():
    gold = ((0, 1), (5, 6, 7))
    cases = {
        ((0, 1), (5, 6, 7)): {"overlap", "exact", "iou50"},
        ((1,), (5, 6)): {"overlap", "iou50"},  # half of the units in both parts
        ((1, 2, 3), (5,)): {"overlap"},
        ((2,), (5, 6, 7)): set(),
        ((0, 1), ()): set(),
    }
    for piece, rule in product(cases, ("overlap", "exact", "iou50")):
        assert plausibility.matches(rule, piece, gold) == (rule in cases[piece]), piece
    # of four pairs of units found, two are gold, which has six
    found = plausibility.interaction_agreement([[((0, 2), (5, 6))]], [gold], "token_pairs")
    assert found == pytest.approx(2 / 4 * 2 / 6)
    with pytest.raises(ValueError, match="'some' is not known; there are: overlap, exact"):
        plausibility.interaction_agreement([[gold]], [gold], "some")


@given(
    scores=st.lists(
        st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-6), min_size=1, max_size=12
    )
)
def test_entropy(scores):
    found = complexity.entropy(np.array(scores))
    assert found == pytest.approx(pieces.entropy(scores), abs=1e-9)
    assert -1e-12 <= found <= math.log(len(scores)) + 1e-9
    if any(scores):
        assert found == pytest.approx(library_entropy(np.abs(scores)), abs=1e-9)


def test_entropy_of_equal_scores_of_none_of_the_first_and_of_random_ones():
    assert complexity.entropy(np.full(7, -3.0)) == pytest.approx(math.log(7))
    assert complexity.entropy(np.zeros(4)) == pytest.approx(math.log(4))
    assert math.isnan(complexity.unified_entropy(np.ones(3), 0))
    assert complexity.unified_entropy(np.array([5.0, 1.0]), 1) == 0
    assert complexity.unified_entropy(np.array([1.0, 1.0]), 9) == pytest.approx(math.log(2))
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match=f"position 1 is {bad}"):
            complexity.entropy([1.0, bad])
    for k, kind in product((1, 5), ("exponential", "uniform")):
        drawn = getattr(np.random.default_rng(k), kind)(size=(20_000, k))
        assert complexity.random_entropy(k, kind) == pytest.approx(
            library_entropy(drawn, axis=1).mean(), abs=0.02
        )
    with pytest.raises(ValueError, match="`uniform` or `exponential`; got 'normal'"):
        complexity.random_entropy(1, "normal")
