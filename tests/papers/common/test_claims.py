"""Claims: contrasts against their slow twin, verdicts where they can be told, and a sound file."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from reference import CHECKOUT
from reference import pointing as slow
from reference.steps import Recorder

from attreval.methods import METHODS
from attreval.metrics.pointing_game import BASELINES
from compendium import corpora
from compendium.config import BootstrapSpec
from compendium.papers.common import claims as common
from compendium.papers.common.claims import (
    FEW,
    INSIDE,
    OPEN,
    OUTSIDE,
    Turn,
    interval_holds,
    read_claims,
    score,
)
from compendium.papers.common.verdicts import Expectation, Finding, Verdict
from compendium.papers.poerner2018 import claims as pointing
from compendium.papers.poerner2018.claims import (
    NOTHING,
    MethodContrast,
    columns_of,
    contrast_methods,
)
from compendium.site.declarations import DeclaredNumber, read_declared
from compendium.site.tables import csv_files, read_numbers

A_OVER_B = MethodContrast(("a",), ("b",))
A_OVER_RANDOM = MethodContrast(("a",), ("random",))


def hits_of(columns, metric="hybrid"):
    """Rows as metrics.pointing_game.play gives them, of {(task, architecture): {method: [hit]}}."""
    rows = []
    for (task, kind), by_method in columns.items():
        texts = len(next(iter(by_method.values())))
        about = {"task": task, "architecture": kind, "model": kind.lower(), "metric": metric}
        for method, hits in ({"random": [0.2] * texts} | by_method).items():
            names = [f"{task}-{at}" for at in range(texts)]
            rows.append(pd.DataFrame(about | {"method": method, "instance": names, "hit": hits}))
    same = {"seed": 1, "correct": True, "discarded": "", "words": 10, "tied": 1}
    return pd.concat(rows, ignore_index=True).assign(**same)


def contrast(rows, asked, draws=50):
    return contrast_methods(columns_of(rows), asked, BootstrapSpec(draws=draws, nulls=19))


@st.composite
def tables(draw):
    columns = {}
    for task in ("one", "two"):
        n = draw(st.integers(1, 5))
        hits = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n)
        for kind in draw(st.sampled_from([("GRU",), ("GRU", "CNN")])):
            methods = draw(st.sampled_from(["abc", "a", "ab"]))
            columns[task, kind] = {method: draw(hits) for method in methods}
    return columns


@given(columns=tables(), others=st.booleans())
def test_a_contrast_equals_its_slow_twin(columns, others):
    worse = () if others else ("b", "c")
    found = contrast(hits_of(columns), MethodContrast(("a",), worse))
    expected = slow.contrast(columns.values(), ("a",), ("b", "c"), "mean")
    if expected is None:
        assert found is None
    else:
        low, high = found.finding.interval(0.9)
        assert found.finding.value == pytest.approx(expected) and low <= high


def test_the_best_of_a_group_and_the_worst_column_of_a_method_count():
    """`a` is the best on average and the worst in one column; `b` never falls far behind."""
    columns = {("one", "GRU"): {"a": [1.0] * 40, "b": [0.9] * 40, "c": [0.0] * 40}}
    found = contrast(hits_of(columns), MethodContrast(("a", "c"), ("b",), "best"))
    assert found.finding.value == pytest.approx(0.1)
    columns["one", "CNN"] = {"a": [0.1] * 40, "b": [0.6] * 40, "c": [0.7] * 40}
    for method, value in (("b", 1.0), ("a", 0.5)):
        asked = MethodContrast((method,), pick="worst column")
        assert contrast(hits_of(columns), asked).finding.value == value


def test_columns_share_the_draws_of_their_task_and_are_chosen_by_name():
    level = {"a": [0.0] * 8, "b": [0.0] * 8}
    rows = hits_of({("one", "GRU"): level | {"a": [1.0] * 8}, ("one", "CNN"): level})
    found = contrast(rows, A_OVER_B)
    assert (found.finding.value, *found.finding.interval(0.95)) == (0.5, 0.5, 0.5)
    assert (found.positive, found.cells, found.tasks) == (1, 2, ("one",))
    assert (found.finding.texts, found.finding.models) == (8, 2)
    only = contrast(rows, MethodContrast(("a",), ("b",), architectures=("CNN",)))
    assert only.finding.value == 0 and only.cells == 1
    assert contrast(rows, MethodContrast(("a",), ("b",), tasks=("three",))) is None
    opposed = {
        ("one", kind): {"a": hits * 10, "b": [0.5] * 20}
        for kind, hits in (("GRU", [0.0, 1.0]), ("CNN", [1.0, 0.0]))
    }
    ends = contrast(hits_of(opposed), A_OVER_B, 300).finding.interval(0.95)
    assert ends == pytest.approx((0, 0)), "what one loses the other gains"


def test_kinds_of_predictions_are_columns_of_their_own():
    rows = hits_of({("one", "GRU"): {"a": [1.0, 0.0], "b": [0.0, 0.0]}}, "hit_feat")
    rows["correct"] = rows.instance == "one-0"
    found = contrast(rows, MethodContrast(("a",), ("b",), games=("hit_feat",)))
    assert found.cells == 2 and found.finding.value == 0.5 and found.positive == 1
    assert contrast(rows.assign(discarded="why"), A_OVER_B) is None
    # five wrong predictions do not count as much as 35 right ones
    rows = hits_of({("one", "GRU"): {"a": [1.0] * 40, "b": [0.0] * 40}}, "hit_feat")
    rows["correct"] = ~rows.instance.isin([f"one-{at}" for at in range(5)])
    assert contrast(rows, A_OVER_B).cells == 1


def test_sentences_chosen_for_attractors_take_part_where_they_are_named():
    tasks = ("agreement_parsed", "agreement_linzen")
    rows = hits_of({(task, "GRU"): {"a": [1.0] * 8, "b": [0.0] * 8} for task in tasks})
    assert contrast(rows, A_OVER_B).tasks == ("agreement_parsed",)
    named = MethodContrast(("a",), ("b",), tasks=("agreement_linzen",))
    assert contrast(rows, named).tasks == ("agreement_linzen",)


def test_random_scores_hit_as_often_as_there_is_evidence():
    rows = hits_of({("one", "GRU"): {"a": [1.0] * 60, "random": [0.3] * 60}})
    found = contrast(rows, A_OVER_RANDOM).finding
    assert found.value == pytest.approx(0.7)
    assert abs(found.by_scores.mean()) < 0.05 and found.by_scores.std() > 0
    tied = contrast(rows.assign(tied=10), A_OVER_RANDOM).finding
    assert np.allclose(tied.by_scores, 0), "all ten words tied: the expected hit is chance itself"
    alone = contrast(rows, MethodContrast(("random",), NOTHING)).finding
    assert alone.value == pytest.approx(0.3)
    assert not len(alone.by_scores) and not len(alone.by_names)


def test_games_can_be_taken_off_others():
    half = {("two", kind): {"a": [0.5] * 40} for kind in ("GRU", "CNN")}
    rows = hits_of({("one", "GRU"): {"a": [1.0] * 40}} | half)
    rows.loc[rows.task == "two", "metric"] = "manual"
    asked = MethodContrast(("a",), ("random",), games=("hybrid",), less_games=("manual",))
    assert contrast(rows, asked).finding.value == pytest.approx(0.5)
    assert np.isnan(contrast(rows[rows.task == "one"], asked).finding.value)


# The file


def test_every_claim_on_pointing_can_be_asked():
    known = {
        "games": set(pointing.CONDITIONS_OF),
        "tasks": set(corpora.TASKS),
        "architectures": {"GRU", "QGRU", "LSTM", "QLSTM", "CNN"},
    }
    for claim in read_claims("poerner2018"):
        if claim.contrast is None:
            continue
        asked = claim.ask(MethodContrast)
        assert {*asked.better, *asked.worse} <= {*METHODS, *BASELINES, *NOTHING}, claim.id
        for name, allowed in known.items():
            ours = {"MINILM"} if claim.sequel else set()
            assert set(getattr(asked, name) or ()) <= allowed | ours, (claim.id, name)


def test_claims_have_titles_of_their_own_and_sequels_are_works_of_the_bibliography():
    """Spec C6, A6, B6 and D6: each claim has its line; C4 and C9 have two, C12 two games' lines."""
    claims = read_claims()
    own = [claim.paper for claim in claims if not claim.sequel]
    counts = {"poerner2018": 20, "kamp2023": 16, "zhao2023": 13, "sun2024": 28}
    assert {paper: own.count(paper) for paper in counts} == counts
    assert len({claim.title for claim in claims}) == len(claims)
    works = (CHECKOUT / "paper" / "references.bib").read_text(encoding="utf-8")
    told = {claim.paper: claim.sequel for claim in claims if claim.sequel}
    assert set(told) == set(counts)
    assert all(works.count(f"{{{key},") == 1 for key in told.values())
    assert all(bool(claim.words) != bool(claim.sequel) for claim in claims), "the paper's own words"


GOOD = dict.fromkeys(("id", "title", "where", "statement", "measure", "reported"), "x")
GOOD |= {"paper": "kamp2023", "expect": {"above": 0}, "null_world": "random scores"}


def claims_of(folder, *changes):
    (folder / "claims.yml").write_text(yaml.safe_dump([GOOD | change for change in changes]))
    return read_claims(path=folder / "claims.yml")


WRONG = {  # what is said: what is changed
    "claim x: paper:": {"paper": "nobody2020"},
    "claim x: expects: unknown key; allowed are: id, title, paper": {"expects": 1},
    "one of above, below, near": {"expect": {"above": 0, "below": 1}},
    "expect.over: unknown key; allowed are: above, below": {"expect": {"over": 0}},
    "claim x: title:": {"title": "x" * 37},
    "claim x: null_world: ": {"null_world": "other"},
    "claim x: kind: ": {"kind": "other"},
}


def test_a_wrong_claim_says_what_is_wrong(tmp_path):
    for said, change in WRONG.items():
        with pytest.raises(ValueError, match=re.escape(said)):
            claims_of(tmp_path, change)
    with pytest.raises(ValueError, match="'x' stands there twice"):
        claims_of(tmp_path, {}, {})


def found(value, texts=50, **more):
    drawn = value + np.linspace(-0.05, 0.05, 99)
    return Finding(value, drawn, np.linspace(-0.02, 0.02, 49), texts=texts, **more)


def test_scores_say_what_they_rest_on(tmp_path):
    others = ({"id": "y", "why_not": "no people"}, {"id": "z"}, {"id": "few"})
    claims = claims_of(tmp_path, {}, *others)
    findings = {"x": found(0.2, basis="all"), "few": found(0.2, texts=4)}
    table = score(claims, findings, published={"x": 0.1})
    assert table.verdict.tolist() == ["reproduced", *["not testable here"] * 3]
    few = "4 texts decide nothing; a claim needs 30 of each task"
    assert table.reason.tolist() == ["", "no people", "not run", few]
    shown = "what decides nothing is shown all the same"
    assert table.value.notna().tolist() == [True, False, False, True], shown
    assert table.q.notna().tolist() == [True, False, False, False]
    assert table.published[0] == 0.1 and table.claimed[0] == "above 0"
    for findings, published in (({"w": found(1.0)}, {}), ({}, {"w": 1.0})):
        with pytest.raises(ValueError, match="'w'"):
            score(claims, findings, published=published)
    table.to_csv(tmp_path / "04_a_claims.csv", index=False)
    words = common.for_people(common.scorecard(tmp_path))
    numbers = ("+0.200 [+0.152, +0.248]", "published +0.100")
    for part in (*numbers, "(no people)", "3 not testable here", "1 reproduced"):
        assert part in words
    assert "nan" not in words
    with pytest.raises(FileNotFoundError, match="run the profile first"):
        common.scorecard(tmp_path / "nothing")


def test_a_claim_on_gold_is_not_tested_by_what_stands_in_for_it(tmp_path, monkeypatch):
    """Whether the gold is not here, or here and not what this run was asked about."""
    claims = claims_of(tmp_path, {"gold": "esnli"})
    for at_hand, corpus in product((True, False), ("the paper's", "stand-in")):
        monkeypatch.setattr("compendium.corpora.at_hand", lambda _, here=at_hand: here)
        row = score(claims, {"x": found(0.2, corpus=corpus)}).iloc[0]
        tested = at_hand and corpus == "the paper's"
        assert row.verdict == ("reproduced" if tested else "not testable here")
        assert row.value == pytest.approx(0.2) and ("esnli" in row.reason) != tested


def test_several_claims_are_adjusted_for_their_number(tmp_path):
    """One of many that just passes alone does not pass among them."""
    edge = Finding(0.2, np.repeat([0.2, -0.1], [980, 19]), texts=50)
    claims = claims_of(tmp_path, *({"id": f"c{at}"} for at in range(10)))
    among = {f"c{at}": found(0.0) for at in range(10)} | {"c0": edge}
    assert score(claims[:1], {"c0": edge}).verdict[0] == "reproduced"
    assert score(claims, among).verdict[0] == "inconclusive"


def claim_of(name):
    return next(claim for claim in read_claims() if claim.id == name)


def test_a_claim_is_measured_on_hits_and_one_without_columns_is_not_testable(tmp_path):
    claim = claim_of("lrp-over-gradient")
    hits = hits_of({("one", "GRU"): {"lrp": [1.0] * 40, "gradient_x_input": [0.0] * 40}})
    step = Recorder()
    one = pointing.claim_value(claim, columns_of(hits), step)
    assert (one.value, one.basis, one.texts) == (1.0, "positive in 1 of 1 columns", 40)
    nothing = pointing.claim_value(claim, [], step)
    assert np.isnan(nothing.value) and "no task" in nothing.reason
    whole = pointing.pointing_claims(step, hits, common=[])
    assert whole.set_index("claim").verdict[claim.id] == "reproduced"
    whole.to_csv(tmp_path / "04_poerner2018_claims.csv", index=False)
    numbers = read_numbers(
        csv_files(tmp_path), read_declared(CHECKOUT / "paper" / "numbers.yml", DeclaredNumber)
    )
    counts = whole[whole.kind == "conclusion"].verdict.value_counts()
    said = {verdict: f"claims.poerner2018.{verdict.replace(' ', '_')}" for verdict in Verdict}
    assert {one: int(numbers[key]) for one, key in said.items()} == {
        one: counts.get(one, 0) for one in Verdict
    }
    assert int(numbers["claims.poerner2018.all"]) == counts.sum()
    assert counts["not testable here"] > 10


def test_lrp_and_gradient_x_input_meet_where_other_methods_do_not():
    """On 40 texts; a third method points elsewhere, and random scores meet at one word of ten."""
    methods = ["lrp", "gradient_x_input", "deeplift"]
    shares = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    run = ("hybrid_bbc", "cnn", 1)
    common = [pointing.WordsInCommon(run, f"t{at}", methods, shares, 10) for at in range(40)]
    found = pointing.same_word(Recorder(), common)
    assert found.value == 1 and abs(found.by_scores.mean() - 0.1) < 0.05
    assert found.by_names.mean() < 0.7
    claim = claim_of("lrp-is-gradient-on-cnn")
    assert score([claim], {claim.id: found}).verdict[0] == "reproduced"
    assert "no run of a CNN" in pointing.same_word(Recorder(), []).reason


# Turning one thing at a time: whatever is tested, and only what changes something


def test_an_interval_is_inside_outside_or_neither():
    above = Expectation(above=0)
    near = Expectation(near=1, within=0.1)
    for expect, low, high, then in (
        (above, 0.1, 0.2, INSIDE),
        (above, -0.1, 0.2, OPEN),
        (above, -0.2, -0.1, OUTSIDE),
        (near, 0.95, 1.05, INSIDE),
        (near, 0.8, 1, OPEN),
        (near, 0.5, 0.8, OUTSIDE),
        (near, 1.2, 1.3, OUTSIDE),
    ):
        assert interval_holds(expect, low, high, 30) == then, (expect, low, high)
    assert interval_holds(above, 0.1, 0.2, 29) == FEW


def test_tested_claims_are_turned_and_only_by_what_changes_them(tmp_path):
    claims = claims_of(tmp_path, {"id": "wrong"}, {"id": "right"}, {"id": "void"})
    judged = score(claims, {"wrong": found(-0.5), "right": found(0.5)})
    asked = []

    def turn(one):
        asked.append(one.id)
        yield Turn("corpus", "same", found(-0.5))
        yield Turn("corpus", "nothing there", None)
        yield Turn("model", "no number", Finding(float("nan"), np.full(3, np.nan)))
        yield Turn("model", "GRU", found(0.3))
        yield Turn("metric", "another", found(0.3), Expectation(below=0))
        yield Turn("protocol", "an open rule", found(0.45), open=True)
        yield Turn("protocol", "one that opens", found(0.0), open=True)

    table = common.turned_claims_table(claims, judged, turn, 0.95)
    assert asked == ["wrong", "right"] and (table.low < table.value).all()
    columns = ["what", "how", "claimed", "holds", "turns", "depends"]
    of_wrong = table[table.claim == "wrong"][columns].to_numpy().tolist()
    assert of_wrong == [
        ["model", "GRU", "above 0", INSIDE, True, False],
        ["metric", "another", "below 0", OUTSIDE, False, False],
        ["protocol", "an open rule", "above 0", INSIDE, True, True],
        ["protocol", "one that opens", "above 0", OPEN, False, True],
    ]
    settled = common.settle(claims, judged, turn, 0.95).claims.set_index("claim")
    assert settled.verdict.tolist() == ["depends on the rule"] * 2 + ["not testable here"]
    assert settled.rule.tolist() == ["an open rule; one that opens", "one that opens", ""]
    assert settled.turned_by["wrong"] == (
        "2 of 4 changes: model GRU (0.300), protocol an open rule (0.450)"
    )
    assert settled.turned_by["right"].startswith("2 of 5 changes: corpus same (-0.500), metric")
    empty = common.turned_claims_table(claims[2:], judged[2:], turn, 0.95)
    assert list(empty) == list(table) and empty.empty
