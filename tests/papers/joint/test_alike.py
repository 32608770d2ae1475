"""Methods that say the same on every network are one."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from compendium.papers.joint import alike
from compendium.papers.joint.values import COLUMNS


def text_of(seed, scores):
    return SimpleNamespace(instance=SimpleNamespace(id=f"i{seed}"), scores=scores)


def compared(networks):
    """Of a text of 9 tokens a network; by its name what each method adds to one order."""
    frames = []
    for at, (model, added) in enumerate(networks.items()):
        rng = np.random.default_rng(at)
        base = rng.permutation(9).astype(float)
        scores = {name: base + noise * rng.standard_normal(9) for name, noise in added.items()}
        scores["random"] = rng.standard_normal(9)
        frames.append(alike.compare_methods(("t", model, 1), [text_of(at, scores)]))
    return pd.concat(frames)


def test_each_pair_has_its_tau_on_each_text():
    rng = np.random.default_rng(1)
    scores = {
        name: rng.integers(0, 4, 7).astype(float)
        for name in ("lrp", "lime", "random", "limsse_logit")
    }
    table = alike.compare_methods(("t", "a", 1), [text_of(0, scores)])
    assert table[["first", "second"]].to_numpy().tolist() == [
        ["lrp", "lime"],
        ["lrp", "limsse_logit"],
        ["lime", "limsse_logit"],
    ]
    for row in table.itertuples():
        assert row.tau == pytest.approx(kendalltau(scores[row.first], scores[row.second]).statistic)


def test_one_network_that_tells_two_methods_apart_is_enough():
    same = {"lrp": 0, "deeplift": 1e-3, "lime": 9}
    pairs = alike.pairs_alike(compared({"a": same, "b": same}))
    assert alike.groups_same(pairs) == [["deeplift", "lrp"]]
    assert pairs.iloc[0][["networks", "lowest", "same"]].tolist() == [2, pytest.approx(1), True]
    assert alike.say_alike(pairs).endswith("network: DeepLIFT = LRP.")
    apart = alike.pairs_alike(compared({"a": same, "b": same | {"deeplift": 9}}))
    assert not apart.same.any() and alike.groups_same(apart) == []
    assert alike.say_alike(apart).endswith("network: none.")


def test_methods_that_a_third_joins_are_merged_to_their_mean():
    pairs = pd.DataFrame(
        [("a", "b", True), ("b", "c", True), ("a", "c", False), ("a", "d", False)],
        columns=["first", "second", "same"],
    )
    rows = [
        ("t", "m", 1, "i0", method, "nc", value)
        for method, value in zip("abcd", (1, 2, 6, 8), strict=True)
    ]
    rows.append(("t", "m", 1, "i1", "b", "nc", np.nan))
    merged = alike.merge_same(pd.DataFrame(rows, columns=COLUMNS), pairs)
    found = merged.set_index(["instance", "method"]).value
    assert found["i0"].to_dict() == {"a": 3, "d": 8}
    assert np.isnan(found["i1", "a"])


def test_nothing_is_merged_of_no_explanations():
    none = alike.pairs_alike(alike.compare_methods((), ()))
    assert none.empty and alike.groups_same(none) == []
