"""Does the explorer's page hold what was measured, in little space?"""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from reference import CHECKOUT
from reference.explained_texts import ABOUT, HOSTILE, TASKS, make_text

from attreval.core import tables
from attreval.metrics.agreement import top_k
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima
from compendium import config
from compendium.config import AgreementSpec
from compendium.explorer import read
from compendium.explorer.page import (
    COMMITTED,
    explorer_page,
    gather_page,
    pack_layout,
    pack_means,
    pack_page,
    pack_scores,
    to_json,
    write_page,
)
from compendium.explorer.read import read_means, take_turns
from compendium.project import Results
from compendium.workflow.instance_values import COLUMNS, read_values
from compendium.workflow.parameters import NOTEBOOKS
from compendium.workflow.step import Step

RUNS = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(1, 2)),
    st.integers(0, 30),
    max_size=8,
)
LEVELS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1 / 3, 1e-9, 2e-9, 1e-300, -0.25])
SCORES = st.lists(
    st.one_of(LEVELS, st.floats(-1e6, 1e6, allow_subnormal=False)), min_size=1, max_size=12
)


@given(RUNS, st.integers(0, 60))
def test_turns_are_shared_evenly_over_tasks_and_then_runs(counts, most):
    turns = take_turns(counts, most)
    assert len(turns) == len(set(turns)) == min(most, sum(counts.values()))
    taken = {run: [place for r, place in turns if r == run] for run in counts}
    assert all(
        places == list(range(len(places))) and len(places) <= counts[run]
        for run, places in taken.items()
    )
    for one, other in ((a, b) for a in counts for b in counts):
        if one[0] == other[0] and len(taken[one]) < counts[one]:  # could have had more
            assert len(taken[other]) <= len(taken[one]) + 1
    by_task = {
        task: [run for run in counts if run[0] == task] for task in {run[0] for run in counts}
    }
    totals = {task: sum(len(taken[run]) for run in runs) for task, runs in by_task.items()}
    for task, runs in by_task.items():
        if totals[task] < sum(counts[run] for run in runs):
            assert all(total <= totals[task] + 1 for total in totals.values())


@given(SCORES, st.integers(1, 10))
def test_packed_scores_select_the_same_tokens_and_have_the_same_peaks(scores, largest_k):
    scores = np.array(scores)
    for rule in PEAK_RULES.values():
        unit, values, *told = pack_scores(scores, largest_k, rule)
        kept = np.array(values, dtype=float)
        np.testing.assert_allclose(unit * kept, scores, atol=0.0051 * np.abs(scores).max())
        for k in range(1, largest_k + 1):
            for ours, theirs in zip(top_k(kept, k), top_k(scores, k), strict=True):
                np.testing.assert_array_equal(ours, theirs)
        peaks = told[0] if told else local_maxima(kept, rule).tolist()
        assert peaks == local_maxima(scores, rule).tolist()


def test_a_text_can_be_put_together_again():
    for task in TASKS:
        shown = make_text(task, 0)
        texts, steps, rest = pack_layout(shown)
        assert tuple(texts) == shown.instance.segments and rest == [0] * len(texts)
        starts = [(part, run, i) for part, run in enumerate(steps) for i in range(0, len(run), 2)]
        spans = [(part, sum(run[: i + 1]), sum(run[: i + 2])) for part, run, i in starts]
        assert spans == [tuple(row) for row in shown.tokens.offsets[shown.tokens.content].tolist()]


def test_what_a_model_did_not_read_is_counted():
    shown = make_text("rated_movies", 0, ("the film " * 400,))
    (text,), (steps,), (rest,) = pack_layout(shown)
    assert len(steps) == 2 * 510 and sum(steps) == len(text) and rest == 9 * 400 - len(text)


def gather(shown, **more) -> dict:
    """The data of made-up texts."""
    return pack_page(shown, {}, ABOUT, AgreementSpec(), [], **more)


def test_two_hundred_long_texts_fit_and_are_taken_in_turn():
    long = [make_text("snli", i, ("the film was good " * 40, "a plot " * 60)) for i in range(8)]
    many = [long[i % 8] for i in range(200)]
    data = gather(many)
    assert len(data["runs"][0]["texts"]) == 200 and len(data["layouts"]) == 1
    page = explorer_page(data)
    assert len(page.encode()) < 3_000_000
    small = gather(many, most_bytes=200_000)
    kept = len(small["runs"][0]["texts"])
    assert 0 < kept < 200 and small["runs"][0]["texts"] == data["runs"][0]["texts"][:kept]
    assert len(explorer_page(small).encode()) < 260_000


def test_nothing_in_the_data_ends_its_element():
    data = gather([make_text(task, 1) for task in TASKS])
    page = explorer_page(data)
    parsed = BeautifulSoup(page, "html.parser")
    kept = json.loads(parsed.find("script", id="data").string)
    assert HOSTILE in [text for texts, *_ in kept["layouts"] for text in texts]
    assert (
        HOSTILE not in page and len(parsed.find_all("script")) == 2 and not parsed.find_all("img")
    )
    assert not re.search(r"\[\[\w+\]\]", page), "a place of the template was not filled"
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|fetch\(|XMLHttp""", page), (
        "the page asks elsewhere"
    )


def test_columns_follow_the_methods_of_their_run():
    shown = make_text("snli", 3)
    (run,) = gather([shown, make_text("snli", 4, linked=False)])["runs"]
    first, second = run["texts"]
    one = make_text("snli", 5, linked=False)
    bare = {
        "scores": {"lime": one.scores["lime"]},
        "metrics": {},
        "text_agreement": {},
        "probability": float("nan"),
    }
    (alone,) = gather([replace(one, **bare)])["runs"]
    assert alone["methods"] == ["lime"] and alone["texts"][0]["metrics"] == {}
    assert alone["texts"][0]["probability"] is None and gather([])["runs"] == []
    assert set(run["methods"]) == set(shown.scores)
    for name, column in first["metrics"].items():
        for method, value in zip(run["methods"], column, strict=True):
            expected = shown.metrics[name].get(method)
            assert value is None if expected is None else value == pytest.approx(expected, rel=1e-5)
    at = run["methods"].index("bivariate_shapley")
    assert [piece[2] for piece in first["features"][str(at)]] == pytest.approx(
        [1, 1 / 2, 1 / 3], rel=1e-3
    )
    assert (
        second["scores"][at] is None
        and "features" not in second
        and first["scores"][at] is not None
    )


def test_what_is_not_at_hand_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))
    profile = config.load_profile("smoke")
    settings = profile.model_dump()
    settings["agreement"]["a_name_of_old"] = 1  # a field that was renamed since
    (tmp_path / "manifest.json").write_text(json.dumps({"profile": "smoke", "settings": settings}))
    data = gather_page(Results(tmp_path))
    runs = {*profile.explained_runs(), *profile.explained_runs("diagnosis")}
    assert data["runs"] == [] and len(data["gaps"]) == len(runs)
    assert all("no explanations" in gap for gap in data["gaps"])
    nothing = gather_page(Results(tmp_path / "mine"))
    assert nothing["runs"] == [] and nothing["about"]["profile"] == "mine"


def test_only_texts_of_our_own_are_for_everybody(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))
    settings = config.load_profile("quick").model_dump()
    (tmp_path / "manifest.json").write_text(json.dumps({"profile": "quick", "settings": settings}))
    gaps = gather_page(Results(tmp_path), everything=False)["gaps"]
    assert {gap.partition(",")[0] for gap in gaps} == {
        name for name in settings["tasks"] if "own_" in name
    }


def test_texts_that_are_only_shown_have_what_the_joint_study_has_measured(tmp_path):
    row = {"model": "m", "seed": 1, "instance": "a", "method": "lime", "value": 0.5}
    for notebook, rows in {
        "06_zhao2023": [row | {"task": "snli", "measure": "nc"}],
        "08_joint": [row | {"task": t, "measure": "diagnosticity"} for t in ("snli", "own_pairs")],
    }.items():
        path = Results(tmp_path).kept("instances", notebook)
        path.parent.mkdir(exist_ok=True)
        pd.DataFrame(rows).to_parquet(path)
    found = read.instance_values(Results(tmp_path), ["own_pairs"])
    assert list(zip(found.task, found.measure, strict=True)) == [
        ("snli", "nc"),
        ("own_pairs", "diagnosticity"),
    ]


def test_a_committed_run_shows_the_texts_that_it_has(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path))
    assert write_page(Results(tmp_path / "run")) is None
    data = pack_page([make_text("snli", 0)], {}, ABOUT, AgreementSpec(), [])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / COMMITTED).write_text(to_json(data))
    page = write_page(Results(tmp_path / "run"))
    assert page and to_json(data) in page.read_text()


def test_means_stand_at_the_places_of_their_methods():
    pairs = {("lime", "random"): ({1: 0.5, 2: 0.75}, 9), ("lime", "people"): ({1: 0.6}, 8)}
    means = {
        "metrics": {"soft_nc": {"lime": (0.25, 7)}, "unknown": {"lime": (1.0, 1)}},
        "text_agreement": {"people": 0.9},
    }
    means["pairs"] = pairs | {("lime", "gone"): ({1: 1.0}, 9)}
    means["dynamic"] = {("random", "lime"): (0.7, 5), ("lime", "people"): (float("nan"), 0)}
    packed = pack_means(means, ["random", "gradient_l1", "lime"])
    assert packed["means"] == {"soft_nc": [None, None, [0.25, 7]]}
    assert packed["pairs"] == {"0-2": [[0.5, 0.75], 9], "2-people": [[0.6], 8]}
    assert packed["dynamic"] == {"0-2": [0.7, 5], "2-people": [None, 0]} and packed[
        "text_agreement"
    ] == {"people": 0.9}


def test_metrics_that_no_notebook_keeps_of_texts_have_the_joint_studys_means(tmp_path):
    row = {
        "task": "t",
        "model": "m",
        "granularity": "tokens",
        "method": "lime",
        "mean": 0.25,
        "n": 7,
    }
    # nc: notebook 06 keeps it, by text
    rows = [row | {"metric": name} for name in ("diagnosticity", "nc", "gone")]
    tables.write_csv(tmp_path / "tables" / "08_joint_values.csv", pd.DataFrame(rows))
    means = read_means(
        Results(tmp_path), read_values(Results(tmp_path)), [("t", "m", 1), ("t", "other", 1)]
    )
    assert means == {("t", "m", 1): {"metrics": {"diagnosticity": {"lime": (0.25, 7)}}}}
    assert pack_means(means["t", "m", 1], ["lime"])["means"] == {"diagnosticity": [[0.25, 7]]}


def test_values_of_instances_are_read_without_what_is_no_number(tmp_path):
    rows = {
        "task": "t",
        "model": "m",
        "seed": 1,
        "instance": ["a", "b"],
        "method": "lime",
        "measure": "x",
    }
    results = Results(tmp_path)
    step = Step("04_poerner2018", NOTEBOOKS["04_poerner2018"](), None, results)
    path = results.kept("instances", step.notebook)
    step.keep("instances", pd.DataFrame(rows | {"value": [0.1, np.nan], "more": 1}))
    first = path.read_bytes()
    frame = step.keep("instances", step.kept("instances"))
    assert path.read_bytes() == first and step.files == [path, path] and len(frame) == 2
    kept = read_values(results, step.notebook, "06_zhao2023")
    assert list(kept) == COLUMNS and kept.value.tolist() == [0.1]
    assert len(read_values(results)) == 0
