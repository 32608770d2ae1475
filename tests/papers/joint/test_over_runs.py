"""Exchanged names, halves and prices against slow twins and where the answer is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from reference import rank_correlation as slow
from scipy.stats import kendalltau

from attreval.metrics.rank_correlation import Drawn
from compendium.papers.joint import over_runs

few = st.sampled_from([-1.0, -0.25, 0.0, 0.5, 2.0])  # few, so that ties are common; sums are exact
holes = st.one_of(few, st.just(float("nan")))


@given(
    values=arrays.arrays(
        float, st.tuples(st.just(2), st.integers(1, 3), st.integers(4, 7)), elements=holes
    )
)
def test_exchanged_names_are_followed_to_a_method_of_the_run(values):
    names = ["random", *(f"m{at}" for at in range(values.shape[2] - 1))]
    # of a judge each, a mean a method, NaN for what it does not judge
    runs = [Drawn(tuple(names), {"a": a, "b": b}, {}, {}) for a, b in values.swapaxes(0, 1)]
    rng = np.random.default_rng(0)
    known = sorted([*names, "nowhere"])
    orders = np.stack([rng.permutation(len(names) + 1) for _ in range(5)])
    found = over_runs.exchange_methods(runs, "a", "b", known, orders)
    for draw in range(len(found)):
        of_draw = {name: known[to] for name, to in zip(known, orders[draw], strict=True)}
        pairs = [tuple(dict(zip(names, run.means[x], strict=True)) for x in "ab") for run in runs]
        np.testing.assert_allclose(found[draw], slow.exchanged_tau(pairs, of_draw), atol=1e-12)


def test_exchanged_names_say_how_much_of_an_order_is_chance():
    methods = tuple("abcdefghij")
    rng = np.random.default_rng(1)
    names = methods, np.stack([rng.permutation(10) for _ in range(999)])
    means = {
        "x": np.arange(10.0),
        "like": np.arange(10.0) ** 2,
        "other": rng.permutation(10).astype(float),
    }
    run = Drawn(methods, means, {}, {})
    like = over_runs.exchange_methods([run], "x", "like", *names)
    assert over_runs.p_of_names(1.0, like) == 1 / 1000 and abs(like.mean()) < 0.03
    # several runs of the same methods trade places alike: they are no more evidence than one
    np.testing.assert_allclose(over_runs.exchange_methods([run] * 3, "x", "like", *names), like)
    other = over_runs.exchange_methods([run], "x", "other", *names)
    known = kendalltau(means["x"], means["other"], method="exact")
    assert over_runs.p_of_names(known.statistic, other) == pytest.approx(known.pvalue, abs=0.05)
    assert np.isnan(over_runs.p_of_names(float("nan"), other))
    assert np.isnan(over_runs.p_of_names(0.5, np.full(1, np.nan)))


def test_a_judge_against_itself_is_sure_where_texts_are_alike_and_lost_where_they_are_noise():
    rng = np.random.default_rng(2)
    worth = np.arange(6.0)
    same = np.tile(worth, (1, 10, 1))
    assert over_runs.against_itself(same, 5, rng) == 1
    of_noise = [over_runs.against_itself(rng.random((2, 20, 6)), 4, rng) for _ in range(100)]
    assert abs(np.mean(of_noise)) < 0.12, "nought on average, whatever one sample says"
    between = over_runs.against_itself(same + rng.normal(0, 4, (1, 10, 6)), 50, rng)
    assert 0.2 < between < 0.95
    same[0, ::2, 3] = np.nan
    assert over_runs.against_itself(same, 5, rng) > 0.99
    for few_texts_or_methods in (same[:, :3], same[..., :3], np.ones((1, 8, 5))):
        assert np.isnan(over_runs.against_itself(few_texts_or_methods, 5, rng))


@given(rows=st.lists(st.tuples(few, holes), min_size=1, max_size=7))
def test_undominated_is_that_of_every_comparison(rows):
    cost, quality = np.array(rows).T
    assert over_runs.pareto_front(cost, quality).tolist() == slow.undominated(cost, quality)
    both = over_runs.pareto_front(cost, np.stack([quality, -quality]))
    assert both[1].tolist() == slow.undominated(cost, -quality)
    with pytest.raises(ValueError, match="one cost a method"):
        over_runs.pareto_front(cost, np.append(quality, 0))
