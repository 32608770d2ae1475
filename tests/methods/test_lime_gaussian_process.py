"""LIME by a Gaussian process: what it draws, LIME's limit, and that it knows its error."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from reference import processes, surrogate

from attreval.methods import lime
from attreval.methods.method import Budget

WIDTH = 25.0


def game(length: int, rng: np.random.Generator, pairs: int):
    """A function of masks: a sum of single tokens and of products of neighbours, squashed to a
    probability.
    """
    alone = rng.normal(size=length)
    together = rng.normal(size=pairs) * 2
    at = np.array([rng.choice(length, 2, replace=False) for _ in range(pairs)], int).reshape(-1, 2)

    def value(masks):
        masks = np.asarray(masks, float)
        total = masks @ alone + (masks[:, at[:, 0]] * masks[:, at[:, 1]]) @ together
        return 1 / (1 + np.exp(-total))

    return value


def by_regression(value, length, rng, samples=40_000):
    masks = lime.draw_masks(length, samples, rng)
    return lime.fit_surrogate(masks, value(masks), lime.sample_weights(masks, WIDTH))


def converse_with(value, length, budget, seed):
    """The conversation on a game; the scores, and how many texts were read."""

    class Text:
        ids = np.arange(1, length + 1)
        mask_id = 0
        segments = np.zeros(length, int)
        content = np.arange(length)

        def __len__(self):
            return length

    talk = lime.lime_gaussian_process.converse(Text(), 1, budget, np.random.default_rng(seed))
    read = 0
    asked = next(talk)
    while True:
        p = value(asked.ids > 0)
        read = read + len(asked.ids)
        try:
            asked = talk.send(np.stack([1 - p, p], axis=1))
        except StopIteration as stop:
            return stop.value, read


def test_masks_are_drawn_as_often_as_the_kernel_weighs_them():
    for length in (1, 2, 7, 20):
        rng = np.random.default_rng(0)
        masks = lime.draw_weighted(length, 20_001, WIDTH, rng)
        assert masks[0].all() and not masks[1:].all(axis=1).any()
        weights = surrogate.weights(np.tri(length, length, -1), WIDTH)
        found = np.bincount(masks[1:].sum(axis=1), minlength=length) / 20_000
        assert_allclose(found, weights / weights.sum(), atol=0.015)
        assert np.ptp(masks[1:].mean(axis=0)) < 0.03  # no position before another


def test_it_reaches_the_limit_of_lime_with_fewer_texts():
    likeness = {"process": [], "regression": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        value = game(14, rng, pairs=12)
        limit = by_regression(value, 14, rng)
        found, read = converse_with(value, 14, Budget(lime_samples=64), seed)
        assert read == 64
        plain = by_regression(value, 14, rng, 64)
        for name, scores in (("process", found.values), ("regression", plain)):
            likeness[name].append(np.corrcoef(scores, limit)[0, 1])
    assert np.mean(likeness["process"]) > 0.95
    assert np.mean(likeness["process"]) > np.mean(likeness["regression"])


def test_the_reliability_is_the_squared_correlation_to_expect():
    said = []
    seen = []
    for seed in range(8):
        rng = np.random.default_rng(100 + seed)
        value = game(16, rng, 40)
        found, _ = converse_with(value, 16, Budget(lime_samples=64, lime_reliability=1.0), seed)
        said.append(found.reliability)
        seen.append(np.corrcoef(found.values, by_regression(value, 16, rng, 10_000))[0, 1] ** 2)
    assert abs(np.mean(said) - np.mean(seen)) < 0.1


def test_it_stops_where_it_is_sure_and_never_reads_more_than_lime():
    easy = game(20, np.random.default_rng(0), 0)
    _, read = converse_with(easy, 20, Budget(lime_samples=5000), 0)
    sure, all_read = converse_with(easy, 20, Budget(lime_samples=200, lime_reliability=1.0), 0)
    assert read < all_read == 200 and sure.reliability <= 1
    assert converse_with(easy, 20, Budget(lime_samples=10), 0)[1] == 10
    for length in (1, 2, 3):  # there are fewer texts than a sample has
        short = game(length, np.random.default_rng(3), 0)
        found, read = converse_with(short, length, Budget(), 0)
        assert found.values.shape == (length,) and np.isfinite(found.values).all()
        assert read <= 2**length


def test_a_constant_model_gets_zeros_without_a_fit():
    found, read = converse_with(lambda masks: np.full(len(masks), 0.5), 9, Budget(), 0)
    assert not found.values.any() and found.reliability == 1 and read == 64


def test_the_posterior_is_the_textbook_one():
    rng = np.random.default_rng(1)
    masks = lime.distinct(lime.draw_weighted(6, 40, WIDTH, rng), 20)
    values = game(6, rng, 4)(masks)
    process = lime.fit_process(masks, values)
    queries = lime.draw_weighted(6, 9, WIDTH, rng)
    near = process.kernel_.k1
    linear = process.kernel_.k2
    hyper = (near.k1.constant_value, near.k2.length_scale, linear.k1.constant_value)
    mean, covariance = processes.posterior(masks, values, queries, hyper, lime.NOISE)
    found_mean, found = process.predict(queries.astype(float), return_cov=True)
    assert_allclose(found_mean, mean, atol=1e-9)
    assert_allclose(found, covariance, atol=1e-9)
