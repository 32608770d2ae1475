"""Pointing accuracy by condition and attractors, of hits that are given."""

import numpy as np
import pandas as pd
import pytest

from compendium.config import BootstrapSpec
from compendium.papers.poerner2018.accuracy import accuracy_by_attractors, summarise_hits

SETTINGS = BootstrapSpec(draws=100, confidence=0.9)
GRU = {
    "task": "agreement_parsed",
    "model": "gru",
    "architecture": "GRU",
    "method": "m",
    "discarded": "",
}


def test_adding_a_method_moves_no_other_interval():
    base = {"task": "t", "model": "m", "architecture": "GRU", "metric": "hybrid", "seed": 1}
    base |= {"correct": True, "discarded": ""}
    rng = np.random.default_rng(5)
    hits = [
        base | {"instance": at, "method": m, "hit": rng.random()} for at in range(24) for m in "abc"
    ]
    hits = pd.DataFrame(hits)
    whole = summarise_hits(hits, SETTINGS).set_index("method")
    less = summarise_hits(hits[hits.method != "a"], SETTINGS).set_index("method")
    pd.testing.assert_frame_equal(whole.loc[less.index], less)


def test_discards_are_counted_and_conditions_are_kept_apart():
    base = GRU | {"metric": "hit_feat"}
    rows = [
        base | {"seed": 1, "instance": f"{at}", "correct": at < 6, "hit": float(at < 3)}
        for at in range(8)
    ]
    rows += [row | {"seed": 2, "hit": 1.0} for row in rows]
    table = summarise_hits(pd.DataFrame(rows), SETTINGS).set_index("condition")
    assert table.accuracy["correct"] == pytest.approx((3 * 1 + 3 * 0.5) / 6)
    assert table.accuracy["wrong"] == pytest.approx(0.5)
    assert table.instances.to_dict() == {"all": 8, "correct": 6, "wrong": 2}
    assert table.right["all"] == pytest.approx(6 / 8)
    gone = {"instance": "gone", "correct": False, "hit": np.nan, "discarded": "no word"}
    hybrid = pd.DataFrame([*rows, rows[0] | gone]).assign(metric="hybrid", task="hybrid_bbc")
    (row,) = summarise_hits(hybrid, SETTINGS).to_dict("records")
    assert row["condition"] == "all" and row["instances"] == 8
    assert row["discarded"] == pytest.approx(1 / 17)


def test_attractors_are_counted_together_from_four_on():
    base = GRU | {"metric": "hit_target", "seed": 1, "correct": True}
    rows = [
        base | {"instance": f"{at}", "attractors": at, "hit": float(at == 0)} for at in (6, 0, 4, 1)
    ]
    table = accuracy_by_attractors(pd.DataFrame(rows), SETTINGS)
    table = table[table.condition == "correct"]
    assert table.attractors.tolist() == [0, 1, 4]
    assert table.instances.tolist() == [1, 1, 2] and table.accuracy.tolist() == [1, 0, 0]
