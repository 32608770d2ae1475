"""Claims: contrasts against their slow twin, verdicts where they can be told, and a file that says what it means."""

import re
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from reference import CHECKOUT
from reference import pointing as slow
from reference.steps import Recorder

from attreval import corpora
from attreval.explain import METHODS
from attreval.metrics.pointing_game import BASELINES
from attreval.papers.common.claims import VERDICTS, Expectation, decide, read_claims, score, scorecard
from attreval.papers.poerner2018.claims import claim_value
from attreval.papers.poerner2018.contrasts import CONDITIONS_OF, MethodContrast, contrast_methods
from attreval.report.numbers import read_declared_numbers, read_numbers

METHOD_NAMES = ("a", "b", "c", "random")


def hits_of(columns):
    """Rows as metrics.pointing_game.play gives them, from {(task, architecture): {method: [hit]}}, all hybrid."""
    rows = [
        {"task": task, "architecture": kind, "model": kind.lower(), "seed": 1, "metric": "hybrid", "method": method}
        | {"instance": f"{task}-{at}", "hit": hit, "correct": True, "discarded": ""}
        for (task, kind), by_method in columns.items()
        for method, values in by_method.items()
        for at, hit in enumerate(values)
    ]
    return pd.DataFrame(rows)


@st.composite
def tables(draw):
    columns = {}
    for task in ("one", "two"):
        n = draw(st.integers(1, 5))
        for kind in draw(st.sampled_from([("GRU",), ("GRU", "CNN")])):
            methods = draw(st.sampled_from([METHOD_NAMES, ("a", "random"), ("a", "b")]))
            values = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n)
            columns[task, kind] = {method: draw(values) for method in methods}
    return columns


@given(columns=tables(), pick=st.sampled_from(["mean", "best"]), others=st.booleans())
def test_a_contrast_equals_its_slow_twin(columns, pick, others):
    better, worse = ("a",), () if others else ("b", "c")
    found = contrast_methods(hits_of(columns), MethodContrast(better, worse, pick), 50, 0.9)
    expected = slow.contrast(columns.values(), better, ("b", "c"), pick)
    if expected is None:
        assert found is None
    else:
        assert found.value == pytest.approx(expected)
        assert found.low <= found.high


def test_a_contrast_is_sure_where_every_instance_is():
    columns = {("one", "GRU"): {"a": [1.0] * 8, "b": [0.0] * 8}, ("one", "CNN"): {"a": [0.0] * 8, "b": [0.0] * 8}}
    found = contrast_methods(hits_of(columns), MethodContrast(("a",), ("b",)), 200, 0.95)
    assert (found.value, found.low, found.high, found.positive, found.cells) == (0.5, 0.5, 0.5, 1, 2)
    only = contrast_methods(hits_of(columns), MethodContrast(("a",), ("b",), architectures=("CNN",)), 200, 0.95)
    assert only.value == 0 and only.cells == 1
    assert contrast_methods(hits_of(columns), MethodContrast(("a",), ("b",), tasks=("three",)), 200, 0.95) is None


def test_models_of_a_task_share_their_draws():
    values = [0.0, 1.0] * 10
    opposite = [1.0, 0.0] * 10
    columns = {("one", "GRU"): {"a": values, "b": [0.5] * 20}, ("one", "CNN"): {"a": opposite, "b": [0.5] * 20}}
    found = contrast_methods(hits_of(columns), MethodContrast(("a",), ("b",)), 300, 0.95)
    assert found.low == pytest.approx(0) and found.high == pytest.approx(0), "what one loses the other gains"


def test_kinds_of_predictions_are_columns_of_their_own():
    rows = hits_of({("one", "GRU"): {"a": [1.0, 0.0], "b": [0.0, 0.0]}}).assign(metric="hit_feat")
    rows["correct"] = rows.instance == "one-0"
    found = contrast_methods(rows, MethodContrast(("a",), ("b",), games=("hit_feat",)), 50, 0.9)
    assert found.cells == 2 and found.value == 0.5 and found.positive == 1
    assert contrast_methods(rows.assign(discarded="why"), MethodContrast(("a",), ("b",)), 50, 0.9) is None


@pytest.mark.parametrize(
    ("expect", "value", "low", "high", "verdict"),
    [
        ({"above": 0}, 0.2, 0.1, 0.3, "reproduced"),
        ({"above": 0}, 0.2, -0.1, 0.3, "direction only"),
        ({"above": 0}, 0.0, -0.1, 0.1, "not reproduced"),
        ({"below": 0}, -0.2, -0.3, -0.1, "reproduced"),
        ({"below": 0}, -0.2, -0.3, 0.1, "direction only"),
        ({"below": 0}, 0.2, 0.1, 0.3, "not reproduced"),
        ({"near": 0.5, "within": 0.1}, 0.55, 0.3, 0.8, "reproduced"),
        ({"near": 0.5, "within": 0.1}, 0.7, 0.58, 0.8, "direction only"),
        ({"near": 0.5, "within": 0.1}, 0.7, 0.65, 0.8, "not reproduced"),
        ({"above": 0}, float("nan"), 0.0, 0.0, "not testable here"),
    ],
)
def test_verdicts(expect, value, low, high, verdict):
    assert decide(Expectation(**expect), value, low, high) == verdict


@given(
    value=st.floats(-1, 1),
    width=st.floats(0, 1),
    bound=st.floats(-1, 1),
)
def test_a_verdict_and_its_mirror_image(value, width, bound):
    up = decide(Expectation(above=bound), value, value - width, value + width)
    down = decide(Expectation(below=-bound), -value, -value - width, -value + width)
    assert up == down and up in VERDICTS[:3]


# The file


def test_every_claim_on_pointing_can_be_asked():
    for claim in read_claims("poerner2018"):
        if claim.contrast is None:
            continue
        assert set(claim.contrast) <= {field.name for field in fields(MethodContrast)}, claim.id
        named = [*claim.contrast["better"], *claim.contrast.get("worse", [])]
        assert not [name for name in named if name not in METHODS and name not in BASELINES], claim.id
        assert not set(claim.contrast.get("games", [])) - set(CONDITIONS_OF), claim.id
        assert not set(claim.contrast.get("tasks", [])) - set(corpora.TASKS), claim.id
        kinds = {"GRU", "QGRU", "LSTM", "QLSTM", "CNN"}
        assert not set(claim.contrast.get("architectures", [])) - kinds, claim.id


def test_the_papers_claims_are_all_there():
    """Each statement of section 5 on a method has its line; a claim may be added, none may go."""
    stated = {  # in the order of section 5.1: gradients, LRP and DeepLIFT, decomposition, perturbation
        *("norms-are-poor", "gradient-dot-on-cnn", "integrated-over-simple", "logit-over-probability"),
        *("lrp-over-gradient", "deeplift-over-integrated", "lrp-is-gradient-on-cnn", "lrp-deeplift-consistent"),
        *("decomposition-on-lstm", "occlusion-over-omission-at-agreement"),
        *("limsse-best-on-hybrid", "limsse-magnitudes", "limsse-fails-on-agreement"),
    }
    assert not stated - {claim.id for claim in read_claims("poerner2018")}
    assert {claim.paper for claim in read_claims()} >= {"poerner2018"}


GOOD = {"id": "x", "paper": "kamp2023", "where": "Table 1", "statement": "s", "measure": "m", "reported": "r"}
GOOD["expect"] = {"above": 0}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"paper": "nobody2020"}, "claim x: paper:"),
        ({"expects": 1}, "claim x: expects: unknown key; allowed are: id, paper"),
        ({"expect": {"above": 0, "below": 1}}, "one of above, below, near"),
        ({"expect": {}}, "one of above, below, near"),
        ({"expect": {"over": 0}}, "expect.over: unknown key; allowed are: above, below, near, within"),
    ],
)
def test_a_wrong_claim_says_what_is_wrong(tmp_path, change, said):
    (tmp_path / "claims.yml").write_text(yaml.safe_dump([GOOD | change]))
    with pytest.raises(ValueError, match=re.escape(said)):
        read_claims(path=tmp_path / "claims.yml")


def test_a_claim_stands_there_once(tmp_path):
    (tmp_path / "claims.yml").write_text(yaml.safe_dump([GOOD, GOOD]))
    with pytest.raises(ValueError, match="'x' stands there twice"):
        read_claims(path=tmp_path / "claims.yml")


def test_scores_say_what_they_rest_on(tmp_path):
    (tmp_path / "claims.yml").write_text(
        yaml.safe_dump([GOOD, GOOD | {"id": "y", "why_not": "no people"}, GOOD | {"id": "z"}])
    )
    claims = read_claims(path=tmp_path / "claims.yml")
    table = score(claims, {"x": {"value": 0.2, "low": 0.1, "high": 0.3, "basis": "all"}})
    assert table.verdict.tolist() == ["reproduced", "not testable here", "not testable here"]
    assert table.basis.tolist() == ["all", "no people", "not run"]
    with pytest.raises(ValueError, match="'w'"):
        score(claims, {"w": {}})
    table.to_csv(tmp_path / "04_a_claims.csv", index=False)
    assert scorecard(tmp_path).claim.tolist() == ["x", "y", "z"]
    with pytest.raises(FileNotFoundError, match="run the profile first"):
        scorecard(tmp_path / "nothing")


def test_a_claim_is_measured_on_hits_and_one_without_columns_is_not_testable(tmp_path):
    claim = next(claim for claim in read_claims() if claim.id == "lrp-over-gradient")
    columns = {("one", "GRU"): {"lrp": [1.0] * 6, "gradient_x_input": [0.0] * 6}}
    step = Recorder()
    found = claim_value(claim, hits_of(columns), step)
    assert (found["value"], found["basis"]) == (1.0, "positive in 1 of 1 columns")
    nothing = claim_value(claim, hits_of({("one", "CNN"): {"lrp": [1.0]}}), step)
    assert np.isnan(nothing["value"]) and "no task" in nothing["basis"]
    table = score([claim], {claim.id: found})
    assert table.verdict.tolist() == ["reproduced"]
    table.to_csv(tmp_path / "04_poerner2018_claims.csv", index=False)
    numbers = read_numbers(tmp_path, read_declared_numbers(CHECKOUT / "paper" / "numbers.yml"))
    assert numbers["claims.poerner2018.reproduced"] == "1" and numbers["claims.poerner2018.all"] == "1"
    assert numbers["claims.poerner2018.not_reproduced"] == numbers["claims.poerner2018.not_testable_here"] == "0"
