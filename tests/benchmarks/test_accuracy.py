"""Time to accuracy: every point of the curves on a tiny model, and the means over texts."""

import accuracy
import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT, models

from attreval.core.tables import write_csv


def test_every_point_of_a_text_is_measured(tiny, monkeypatch):
    for name, value in (
        ("CONVERGED", 60),
        ("STEPS", 20),
        ("SAMPLES", (20, 64)),
        ("NODES", (2, 20)),
    ):
        monkeypatch.setattr(accuracy, name, value)
    points = accuracy.curve_of(
        tiny, 3, models.instance("the film was good", "it was not very slow")
    )
    asked = accuracy.budgets()
    assert [(p.method, p.setting) for p in points] == [
        (method, setting) for method, setting, _ in asked
    ]
    assert {p.text for p in points} == {3} and all(0 <= p.top_overlap <= 1 for p in points)
    by = {(p.method, p.setting): p for p in points}
    assert by["lime", "20"].evaluations <= 20 and by["integrated_gradients", "20"].gradients == 20
    # its own limit, but for the precision
    assert by["integrated_gradients", "20"].spearman == pytest.approx(1)
    assert (
        by["partition_shap", "64"].tokens
        == by["partition_shap", "64"].evaluations * points[0].tokens_in_text
    )


def test_means_over_texts_count_a_flat_explanation_as_no_correlation():
    row = {
        "method": "lime",
        "setting": "50",
        "top_overlap": "0.5",
        "evaluations": "50",
        "gradients": "0",
    }
    row |= {"tokens": "100", "seconds": "2"}
    rows = [row | {"spearman": value} for value in ("0.9", "0.6", "nan")]
    (found,) = accuracy.summarise([*rows])
    assert found["method"] == "LIME" and found["texts"] == 3 and found["tokens"] == 100
    assert (
        found["spearman"] == pytest.approx(0.5) and 0 <= found["low"] < 0.5 < found["high"] <= 0.9
    )
    assert accuracy.summarise([*rows, row | {"setting": "100", "spearman": "1"}])[1]["texts"] == 1
    assert np.isfinite(found["seconds"])


def test_what_the_paper_prints_comes_from_the_points_that_were_kept(tmp_path):
    points = accuracy.read_points(CHECKOUT / "benchmarks" / "results" / "accuracy.csv")
    write_csv(tmp_path / "made.csv", pd.DataFrame(accuracy.summarise(points)))
    kept = CHECKOUT / "results" / "reference" / "benchmark" / "benchmark_accuracy.csv"
    assert (tmp_path / "made.csv").read_bytes() == kept.read_bytes()
