"""The court of other libraries' metrics: what adapters read and write, and how it is compared."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "benchmarks" / "court"))
import exported
import judging
from reasons import REASONS

from attreval.trial.exchange import read_values

SCORES = {"oracle": [0.0, 1.0], "random": [0.25, -3.0]}


@pytest.fixture
def world(tiny, tmp_path):
    """A folder as `attreval trial --export` writes one, with the tiny model for a world."""
    tiny.save(tmp_path / "one")
    place = {"world": "one", "seed": 3, "id": "one 3 0"}
    texts = [place | {"words": ["good", "film"], "part": [0, 0], "target": tiny.labels[1]}]
    scores = [place | {"method": method, "scores": held} for method, held in SCORES.items()]
    scores.append(scores[0] | {"world": "two"})  # of a world without a model
    for name, rows in (("texts", texts), ("scores", scores)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def test_an_adapter_is_asked_about_every_explanation_and_its_values_are_read(
    tiny, world, monkeypatch, capsys
):
    def make(opened):
        def judge(one):
            read = opened.tokenizer(one.text, return_tensors="pt")
            found = opened.network(**read).logits.shape[1]
            yield "last", one.scores[-1] + one.target * found, True
            yield "none", float("nan"), False

        return judge

    out = world / "theirs.jsonl"
    monkeypatch.setattr(sys, "argv", ["of_theirs.py", str(world), str(out)])
    exported.serve("theirs", make)
    assert "4 values, theirs from a folder, torch" in capsys.readouterr().out
    said = read_values(out, None)
    classes = len(tiny.labels)
    table = said.table.set_index(["metric", "explainer"]).value
    assert table["theirs last", "oracle"] == 1 + classes
    assert table["theirs last", "random"] == -3 + classes and table["theirs none"].isna().all()
    assert [one.sign for one in said.metrics.values()] == [1, -1]


def test_two_metrics_are_compared_in_one_direction_where_no_scores_are_equal():
    places = [("a", "lime"), ("b", "lime"), ("c", "lime"), ("a", "constant")]
    table = pd.DataFrame(places, columns=["text", "explainer"])
    ours = table.assign(value=[0.1, 0.2, 0.4, 9.0], sign=1)
    theirs = table.assign(value=[-0.1, -0.3, -0.4, 5.0], sign=-1)
    tied = pd.MultiIndex.from_tuples([("a", "constant")])
    found = judging.compare(theirs, ours, tied)
    assert found.ranks == pytest.approx(1) and found.apart == pytest.approx(0.1)


def test_what_stands_beside_a_metric_is_there():
    assert {reason.twin for reason in REASONS.values()} <= set(judging.TWINS)


def test_the_page_shows_the_committed_table():
    table = pd.read_csv(CHECKOUT / "results/reference/benchmark/court.csv", keep_default_na=False)
    numbers = ["ranks", "apart", "before_random", "low", "high", "before_reverse"]
    table[numbers] = table[numbers].replace("", np.nan).astype(float)
    page = (CHECKOUT / "benchmarks/court.md").read_text(encoding="utf-8")
    assert page.endswith(judging.as_markdown(table))
    libraries = {name.split(" ")[0] for name in table.metric[table.ours != ""]}
    assert len(libraries) >= 4 and set(table.metric[table.ours != ""]) <= set(REASONS)
