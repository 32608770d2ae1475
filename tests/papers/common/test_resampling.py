"""Resampling: equal things differ by nothing on average, however many the best was chosen from."""

from itertools import product
from types import SimpleNamespace

import numpy as np

from compendium.papers.common.contrasts import (
    ContrastCell,
    best_of,
    exchange_columns,
    least_of,
    means,
    resample,
    stand,
    true_sd,
)
from compendium.papers.common.verdicts import untested


def evaluated(values, of, draws, name):
    """(1 + draws,) a cross-fitted statistic of (texts, names) values."""
    texts = range(len(values))
    seeds = [0] * len(values)
    sample = resample(texts, [0], draws, name).sample(texts, seeds)
    return ContrastCell("", "", values, texts, seeds, of, chosen=True).evaluate(sample, values)


def lead_of_best(fit, read):
    """The best of the first two less the best of the others."""
    return best_of(fit[:, :2], read[:, :2]) - best_of(fit[:, 2:], read[:, 2:])


def lead_of_spread(fit, read):
    """How much farther the first five lie apart than the other five."""
    return true_sd(fit[:, :5], read[:, :5]) - true_sd(fit[:, 5:], read[:, 5:])


def variance(fit, read):
    found = true_sd(fit, read)
    return np.sign(found) * found**2


def test_of_equals_none_is_better_and_nothing_is_spread():
    """Chosen and read on the same texts, the best of two equals seems worse than the best of 18."""
    for of, names in ((lead_of_best, 20), (least_of, 10), (variance, 5)):
        rng = np.random.default_rng(0)
        found = [evaluated(rng.normal(size=(50, names)), of, 1, i)[0] for i in range(300)]
        assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(300), of


CHOSEN = {
    lead_of_best: (20, lambda m: m[:2].max() - m[2:].max()),
    least_of: (6, lambda m: m.min()),
    lead_of_spread: (10, lambda m: m[:5].std() - m[5:].std()),
}


def test_intervals_hold_the_truth_of_what_chooses_and_of_spreads():
    """A nominal 95 % in worlds of equals, near ones and distant ones; nearly always of equals."""
    for (of, (names, truth)), texts in product(CHOSEN.items(), (20, 300)):
        rng = np.random.default_rng(3)
        held = {0.0: [], 0.2: [], 1.0: []}
        for apart, i in product(held, range(60)):
            level = apart * rng.normal(size=names)
            values = level + 0.8 * rng.normal(size=(texts, names))
            values += 0.6 * rng.normal(size=(texts, 1))
            low, high = np.nanquantile(evaluated(values, of, 100, i)[1:], [0.025, 0.975])
            held[apart].append(low <= truth(level) <= high)
        assert np.mean(held[0.0]) >= 0.9 and np.mean(list(held.values())) >= 0.92, (of, texts)


def test_means_leave_out_what_is_not_known():
    values = np.array([[1.0, np.nan], [3.0, 4.0]])
    found = means(np.array([[1.0, 1.0], [3.0, 1.0]]), values)
    np.testing.assert_allclose(found, [[2.0, 4.0], [1.5, 4.0]])
    np.testing.assert_allclose(means(np.ones((1, 2)), values[None]), [[2.0, 4.0]])
    assert np.isnan(means(np.ones((1, 1)), np.array([[np.nan]]))).all()


def test_draws_are_shared_by_the_rows_of_a_text_and_seeds_are_drawn():
    drawn = resample(["a", "b", "c"], [1, 2], 50, "x")
    sample = drawn.sample(["a", "a", "b"], [1, 2, 1])
    assert (sample.weights[0] == 1).all() and sample.folds[0] == sample.folds[1]
    assert sample.weights[1:].std(axis=0).min() > 0 and len(sample.weights) == 51
    again = resample(["a", "b", "c"], [1, 2], 50, "x")
    np.testing.assert_array_equal(drawn.text_counts, again.text_counts)
    one = resample(["a", "b"], [7], 50, "x").sample(["a", "b"], [7, 7])
    np.testing.assert_array_equal(one.weights.sum(axis=1), 2)


def test_exchanged_names_keep_every_text_its_values():
    values = np.arange(12.0).reshape(3, 4)
    worlds = exchange_columns(values, 20, np.random.default_rng(0))
    assert len({world.tobytes() for world in worlds}) > 10
    np.testing.assert_array_equal(np.sort(worlds, axis=2), np.broadcast_to(values, (20, 3, 4)))
    orders = worlds % 4  # which name's value each name has
    own = (orders != orders[:, :1]).any(axis=(1, 2))
    assert own.mean() > 0.8, "each text of a world has an order of its own"


def test_too_few_texts_for_a_choice_say_nothing():
    whole = evaluated(np.ones((1, 3)), lambda fit, read: read - fit, 4, "x")
    assert whole.shape == (5, 3) and np.isnan(whole).all(), "of the shape that the statistic has"


def test_a_corpus_is_the_papers_in_part_or_stands_in():
    profile = SimpleNamespace(models={})
    corpora = {("snli",): "the paper's", ("snli", "imdb"): "in part", ("imdb",): "stand-in"}
    for tasks, corpus in (corpora | {(): "stand-in"}).items():
        assert stand(untested(""), "sun2024", tasks, (), profile).corpus == corpus
