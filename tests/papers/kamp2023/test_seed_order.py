"""The order of training seeds: what chance gives, what a planted order gives, and the same by plain
loops.
"""

import numpy as np
import pytest

from attreval.core.bootstrap import draw_counts
from attreval.core.seeds import generator
from compendium.config import BootstrapSpec
from compendium.papers.kamp2023.seeds import (
    exchanged_spreads,
    order_table,
    relative_spread,
    sum_by_text,
)

SETTINGS = BootstrapSpec(draws=400, nulls=199)


def differences(shifts, texts=40, methods=3, seed=0):
    """(r, p) differences of runs that lie above each other by `shifts`, and whose profile each
    column is.
    """
    rng = np.random.default_rng(seed)
    common = rng.gamma(4, 1, texts * methods)
    noise = rng.normal(0, 0.2, (len(shifts), texts * methods))
    return common + noise + np.array(shifts)[:, None], np.repeat(
        [f"t{i}" for i in range(texts)], methods
    )


def test_a_planted_order_is_sure_and_one_of_noise_is_not():
    apart = order_table(*differences([0, 0.5, 1]), SETTINGS, "a")
    assert apart.least.tolist() == [1, 0, 0] and apart.low[0] == apart.high[0] == 0
    assert (apart.low[1:] > 0).all() and apart.p[0] == pytest.approx(1 / 200)
    assert 0 < apart.chance[0] < 0.2 * relative_spread(differences([0, 0.5, 1])[0].mean(axis=1))
    alike = [order_table(*differences([0, 0, 0], seed=s), SETTINGS, s) for s in range(12)]
    assert np.mean([table.p[0] < 0.05 for table in alike]) <= 0.2
    assert np.mean([table.least.max() for table in alike]) < 0.95


def test_intervals_are_those_of_plain_loops():
    values, texts = differences([0, 0.1], texts=7)
    texts[:2] = "t5"  # texts with other numbers of profiles, and not side by side
    found = order_table(values, texts, SETTINGS, "loops")
    names = sorted(set(texts))
    excess = []
    least = []
    for counts in draw_counts(generator("order of runs", "loops"), len(names), SETTINGS.draws):
        drawn = [
            np.flatnonzero(texts == name).repeat(int(n))
            for name, n in zip(names, counts, strict=True)
        ]
        means = [np.mean([run[at] for at in np.concatenate(drawn)]) for run in values]
        first = int(np.argmin(values.mean(axis=1)))
        excess.append([mean / means[first] - 1 for mean in means])
        least.append(int(np.argmin(means)))
    np.testing.assert_allclose(found.low, np.quantile(excess, 0.025, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.high, np.quantile(excess, 0.975, axis=0), atol=1e-12)
    assert found.least.tolist() == [np.mean(np.array(least) == run) for run in range(2)]


def test_worlds_keep_each_text_whole():
    values, texts = differences([0, 3], texts=2, methods=2)
    sums, counts = sum_by_text(values, texts)
    assert counts.tolist() == [2, 2] and sums == pytest.approx(values.reshape(2, 2, 2).sum(axis=2))
    a, b = sums.T  # two runs and two texts: names are exchanged in none or both, or in one
    both = {round(relative_spread(a + b), 9), round(relative_spread(a + b[::-1]), 9)}
    assert {round(s, 9) for s in exchanged_spreads(sums, 50, "x")} == both


def test_one_text_decides_nothing():
    table = order_table(*differences([0, 0.4], texts=1, methods=1), SETTINGS, "one")
    assert table.p[0] == 1 and table.least.sum() == 1
