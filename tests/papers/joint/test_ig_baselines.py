"""Baselines of integrated gradients: the study on a tiny model, and its table on made-up values."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import models
from test_joint import in_turn, profile_of

from attreval.methods.run import explain
from attreval.models.scorer import Scorer
from compendium.papers.joint import ig_baselines
from compendium.papers.joint.ig_baselines import BASELINES, COLUMNS, METHOD

EXPLAINED = ("random", "gradient_x_input", "integrated_gradients", "integrated_gradients_zero")


def test_every_baseline_is_heard_by_every_metric(tiny, monkeypatch):
    texts = [models.instance(f"the film was {word} bad", name=word) for word in ("not", "very")]
    profile = profile_of(joint={"path_baselines": {"snli": 5}}, workers=1)
    profile = profile.changed(explain=profile.explain.changed(path_steps=3, path_steps_most=3))
    made = explain(Scorer(tiny), texts, EXPLAINED, profile.explaining_of("snli"), ("snli", "small", 1))
    records = {one.instance.id: one.attributions for one in made}
    monkeypatch.setattr(ig_baselines, "load_model_once", lambda *run: tiny)
    monkeypatch.setattr(ig_baselines, "load_records_once", lambda *run: records)
    monkeypatch.setattr(ig_baselines, "to_explain", lambda *run: texts)
    step = SimpleNamespace(profile=profile, results=None, side_by_side=in_turn)
    values = ig_baselines.measure_baselines(step)
    counts = values.groupby("metric").size()
    assert {"nc", "ns", "soft_nc_equal", "diagnosticity", "agreement", "simplicity", "gap", "score_tau_b"} <= set(
        counts.index
    )
    assert (counts == 2 * len(BASELINES)).all()
    stored = {name: records["not"][name] for name in (METHOD, "integrated_gradients_zero")}
    gaps = values[(values.metric == "gap") & (values.instance == "not")].set_index("baseline").value
    assert gaps["pad"] == pytest.approx(abs(stored[METHOD].gap), abs=1e-6)
    assert gaps["zero"] == pytest.approx(abs(stored["integrated_gradients_zero"].gap), abs=1e-6)
    table = ig_baselines.baselines_table(values, step)
    assert (table[table.baseline == "pad"].difference == 0).all() and set(table.baseline) == set(BASELINES)
    step.profile = profile_of()
    assert ig_baselines.baselines_table(ig_baselines.measure_baselines(step), step).empty


def test_a_difference_is_told_from_noise():
    rng, rows = np.random.default_rng(0), []
    for text in range(30):
        level = rng.random()
        for baseline in BASELINES:
            value = level + (0.1 + 0.02 * rng.random() if baseline == "mean" else 0.01 * rng.standard_normal())
            rows.append(("snli", "small", f"t{text}", baseline, "nc", value))
    rows.append(("snli", "small", "lone", "pad", "nc", 9.0))  # not every baseline has it
    step = SimpleNamespace(profile=profile_of())
    table = ig_baselines.baselines_table(pd.DataFrame(rows, columns=COLUMNS), step).set_index("baseline")
    assert table.moves["mean"] and table.difference["mean"] == pytest.approx(0.11, abs=0.01)
    assert not table.moves["pad"] and (table.texts == 30).all() and table["mean"].max() < 2
    assert table.difference_high["mean"] - table.difference_low["mean"] < (table.high["mean"] - table.low["mean"]) / 5
