"""Claims: contrasts against their slow twin, verdicts where they can be told, and a file that says
what it means.
"""

import re

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
    holds,
    read_claims,
    score,
)
from compendium.papers.common.verdicts import VERDICTS, Expectation, Finding
from compendium.papers.poerner2018 import claims as pointing
from compendium.papers.poerner2018.claims import (
    NOTHING,
    MethodContrast,
    columns_of,
    contrast_methods,
)
from compendium.site.tables import read_declared_numbers, read_numbers

METHOD_NAMES = ("a", "b", "c", "random")


def hits_of(columns):
    """Rows as metrics.pointing_game.play gives them, from {(task, architecture): {method: [hit]}},
    all hybrid.
    """
    rows = [
        {
            "task": task,
            "architecture": kind,
            "model": kind.lower(),
            "seed": 1,
            "metric": "hybrid",
            "method": method,
        }
        | {
            "instance": f"{task}-{at}",
            "hit": hit,
            "correct": True,
            "discarded": "",
            "words": 10,
            "tied": 1,
        }
        for (task, kind), by_method in columns.items()
        for method, values in (
            {"random": [0.2] * len(next(iter(by_method.values())))} | by_method
        ).items()
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


def contrast(rows, asked, draws=50, confidence=0.95):
    return contrast_methods(
        columns_of(rows), asked, BootstrapSpec(draws=draws, confidence=confidence, nulls=19)
    )


@given(columns=tables(), others=st.booleans())
def test_a_contrast_equals_its_slow_twin(columns, others):
    better = ("a",)
    worse = () if others else ("b", "c")
    found = contrast(hits_of(columns), MethodContrast(better, worse))
    expected = slow.contrast(columns.values(), better, ("b", "c"), "mean")
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
        assert (
            contrast(hits_of(columns), MethodContrast((method,), pick="worst column")).finding.value
            == value
        )


def test_columns_share_the_draws_of_their_task_and_are_chosen_by_name():
    columns = {
        ("one", "GRU"): {"a": [1.0] * 8, "b": [0.0] * 8},
        ("one", "CNN"): {"a": [0.0] * 8, "b": [0.0] * 8},
    }
    found = contrast(hits_of(columns), MethodContrast(("a",), ("b",)), 200)
    assert (found.finding.value, *found.finding.interval(0.95), found.positive, found.cells) == (
        0.5,
        0.5,
        0.5,
        1,
        2,
    )
    assert (found.finding.texts, found.finding.models, found.tasks) == (8, 2, ("one",))
    only = contrast(hits_of(columns), MethodContrast(("a",), ("b",), architectures=("CNN",)))
    assert only.finding.value == 0 and only.cells == 1
    assert contrast(hits_of(columns), MethodContrast(("a",), ("b",), tasks=("three",))) is None
    half = {"b": [0.5] * 20}
    opposed = {
        ("one", "GRU"): {"a": [0.0, 1.0] * 10} | half,
        ("one", "CNN"): {"a": [1.0, 0.0] * 10} | half,
    }
    found = contrast(hits_of(opposed), MethodContrast(("a",), ("b",)), 300)
    assert found.finding.interval(0.95) == pytest.approx((0, 0)), "what one loses the other gains"


def test_kinds_of_predictions_are_columns_of_their_own():
    rows = hits_of({("one", "GRU"): {"a": [1.0, 0.0], "b": [0.0, 0.0]}}).assign(metric="hit_feat")
    rows["correct"] = rows.instance == "one-0"
    found = contrast(rows, MethodContrast(("a",), ("b",), games=("hit_feat",)))
    assert found.cells == 2 and found.finding.value == 0.5 and found.positive == 1
    assert contrast(rows.assign(discarded="why"), MethodContrast(("a",), ("b",))) is None
    # sixteen wrong predictions do not count as much as two hundred right ones
    rows = hits_of({("one", "GRU"): {"a": [1.0] * 40, "b": [0.0] * 40}}).assign(metric="hit_feat")
    rows["correct"] = ~rows.instance.isin([f"one-{at}" for at in range(5)])
    assert contrast(rows, MethodContrast(("a",), ("b",))).cells == 1


def test_sentences_chosen_for_attractors_take_part_where_they_are_named():
    both = {
        (task, "GRU"): {"a": [1.0] * 8, "b": [0.0] * 8}
        for task in ("agreement_parsed", "agreement_linzen")
    }
    for named in (None, ("agreement_linzen",)):
        found = contrast(hits_of(both), MethodContrast(("a",), ("b",), tasks=named))
        assert found.tasks == (named or ("agreement_parsed",))


def test_random_scores_hit_as_often_as_there_is_evidence():
    rows = hits_of({("one", "GRU"): {"a": [1.0] * 60, "random": [0.3] * 60}})
    found = contrast(rows, MethodContrast(("a",), ("random",))).finding
    assert (
        found.value == pytest.approx(0.7)
        and abs(found.by_scores.mean()) < 0.05
        and found.by_scores.std() > 0
    )
    tied = contrast(rows.assign(tied=10), MethodContrast(("a",), ("random",))).finding
    np.testing.assert_allclose(
        tied.by_scores, 0, atol=1e-12
    )  # all ten words tied: the expected hit is chance itself
    alone = contrast(rows, MethodContrast(("random",), NOTHING)).finding
    assert (
        alone.value == pytest.approx(0.3) and not len(alone.by_scores) and not len(alone.by_names)
    )


def test_games_can_be_taken_off_others():
    half = {("two", kind): {"a": [0.5] * 40} for kind in ("GRU", "CNN")}
    rows = hits_of({("one", "GRU"): {"a": [1.0] * 40}} | half)
    rows.loc[rows.task == "two", "metric"] = "manual"
    asked = MethodContrast(("a",), ("random",), games=("hybrid",), less_games=("manual",))
    assert contrast(rows, asked).finding.value == pytest.approx(0.5)
    assert np.isnan(contrast(rows[rows.task == "one"], asked).finding.value)


# The file


def test_every_claim_on_pointing_can_be_asked():
    for claim in (claim for claim in read_claims("poerner2018") if claim.contrast is not None):
        asked = claim.ask(MethodContrast)
        assert {*asked.better, *asked.worse} <= {*METHODS, *BASELINES, *NOTHING}, claim.id
        assert {*(asked.games or ())} <= set(pointing.CONDITIONS_OF) and {
            *(asked.tasks or ())
        } <= set(corpora.TASKS), claim.id
        kinds = {"GRU", "QGRU", "LSTM", "QLSTM", "CNN"} | ({"MINILM"} if claim.sequel else set())
        assert {*(asked.architectures or ())} <= kinds, claim.id


def test_claims_have_titles_of_their_own_and_sequels_are_works_of_the_bibliography():
    """Spec C6, A6, B6 and D6: each claim has its line; C4 and C9 have two, C12 has those of two
    games.
    """
    claims = read_claims()
    counts = (
        pd.Series([claim.paper for claim in claims if not claim.sequel]).value_counts().to_dict()
    )
    assert counts == {"poerner2018": 20, "kamp2023": 16, "zhao2023": 13, "sun2024": 28}
    assert len({claim.title for claim in claims}) == len(claims)
    works = (CHECKOUT / "paper" / "references.bib").read_text(encoding="utf-8")
    told = {claim.paper: claim.sequel for claim in claims if claim.sequel}
    assert set(told) == {claim.paper for claim in claims}
    assert all(works.count(f"{{{key},") == 1 for key in told.values())


GOOD = dict.fromkeys(("id", "title", "where", "statement", "measure", "reported"), "x")
GOOD |= {"paper": "kamp2023", "expect": {"above": 0}, "null_world": "random scores"}


def claims_of(folder, *changes):
    (folder / "claims.yml").write_text(yaml.safe_dump([GOOD | change for change in changes]))
    return read_claims(path=folder / "claims.yml")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([{"paper": "nobody2020"}], "claim x: paper:"),
        ([{"expects": 1}], "claim x: expects: unknown key; allowed are: id, title, paper"),
        ([{"expect": {"above": 0, "below": 1}}], "one of above, below, near"),
        (
            [{"expect": {"over": 0}}],
            "expect.over: unknown key; allowed are: above, below, near, within",
        ),
        ([{"title": "x" * 37}], "claim x: title:"),
        *(([{key: "other"}], f"claim x: {key}: ") for key in ("null_world", "kind")),
        ([{}, {}], "'x' stands there twice"),
    ],
)
def test_a_wrong_claim_says_what_is_wrong(tmp_path, changes, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        claims_of(tmp_path, *changes)


def found(value, texts=50, **more):
    drawn = value + np.linspace(-0.05, 0.05, 99)
    return Finding(value, drawn, np.linspace(-0.02, 0.02, 49), texts=texts, **more)


def test_scores_say_what_they_rest_on(tmp_path):
    claims = claims_of(
        tmp_path, {}, {"id": "y", "why_not": "no people"}, {"id": "z"}, {"id": "few"}
    )
    table = score(
        claims, {"x": found(0.2, basis="all"), "few": found(0.2, texts=4)}, published={"x": 0.1}
    )
    assert table.verdict.tolist() == ["reproduced", *["not testable here"] * 3]
    few = "4 texts decide nothing; a claim needs 30 of each task"
    assert table.reason.tolist() == ["", "no people", "not run", few]
    assert table.value.notna().tolist() == [True, False, False, True], (
        "what decides nothing is shown all the same"
    )
    assert table.q.notna().tolist() == [True, False, False, False] and table.published[0] == 0.1
    assert table.claimed[0] == "above 0"
    for findings, published in (({"w": found(1.0)}, None), ({}, {"w": 1.0})):
        with pytest.raises(ValueError, match="'w'"):
            score(claims, findings, published=published)
    table.to_csv(tmp_path / "04_a_claims.csv", index=False)
    read = common.scorecard(tmp_path)
    assert read.claim.tolist() == ["x", "y", "z", "few"]
    words = common.for_people(read)
    for part in (
        "+0.200 [+0.152, +0.248]",
        "published +0.100",
        "(no people)",
        "3 not testable here",
        "1 reproduced",
    ):
        assert part in words
    assert "nan" not in words
    with pytest.raises(FileNotFoundError, match="run the profile first"):
        common.scorecard(tmp_path / "nothing")


def test_a_claim_on_gold_is_not_tested_by_what_stands_in_for_it(tmp_path, monkeypatch):
    """Whether the gold is not here, or here and not what this run was asked about."""
    claims = claims_of(tmp_path, {"gold": "esnli"})
    for at_hand, corpus in ((True, "the paper's"), (True, "stand-in"), (False, "the paper's")):
        monkeypatch.setattr("compendium.corpora.at_hand", lambda _, here=at_hand: here)
        row = score(claims, {"x": found(0.2, corpus=corpus)}).iloc[0]
        verdict = "reproduced" if at_hand and corpus == "the paper's" else "not testable here"
        assert row.verdict == verdict and row.value == pytest.approx(0.2)
        assert ("esnli" in row.reason) == (verdict != "reproduced")


def test_several_claims_are_adjusted_for_their_number(tmp_path):
    """One of many that just passes alone does not pass among them."""
    edge = Finding(0.2, np.concatenate([np.full(980, 0.2), np.full(19, -0.1)]), texts=50)
    claims = claims_of(tmp_path, *({"id": f"c{at}"} for at in range(10)))
    alone = score(claims[:1], {"c0": edge})
    among = score(claims, {"c0": edge} | {f"c{at}": found(0.0) for at in range(1, 10)})
    assert (alone.verdict[0], among.verdict[0]) == ("reproduced", "direction only")


def test_a_claim_is_measured_on_hits_and_one_without_columns_is_not_testable(tmp_path):
    claim = next(claim for claim in read_claims() if claim.id == "lrp-over-gradient")
    columns = {("one", "GRU"): {"lrp": [1.0] * 40, "gradient_x_input": [0.0] * 40}}
    step = Recorder()
    one = pointing.claim_value(claim, columns_of(hits_of(columns)), step)
    assert (one.value, one.basis, one.texts) == (1.0, "positive in 1 of 1 columns", 40)
    nothing = pointing.claim_value(
        claim, columns_of(hits_of({("one", "CNN"): {"lrp": [1.0]}})), step
    )
    assert np.isnan(nothing.value) and "no task" in nothing.reason
    whole = pointing.pointing_claims(step, hits_of(columns), common=[])
    assert whole.set_index("claim").verdict["lrp-over-gradient"] == "reproduced"
    whole.to_csv(tmp_path / "04_poerner2018_claims.csv", index=False)
    numbers = read_numbers(tmp_path, read_declared_numbers(CHECKOUT / "paper" / "numbers.yml"))
    counts = whole[whole.kind == "conclusion"].verdict.value_counts()
    assert (
        numbers["claims.poerner2018.all"] == str(counts.sum()) and counts["not testable here"] > 10
    )
    for verdict in VERDICTS:
        assert numbers[f"claims.poerner2018.{verdict.replace(' ', '_')}"] == str(
            counts.get(verdict, 0)
        )


def test_lrp_and_gradient_x_input_meet_where_other_methods_do_not():
    """On 40 texts of ten words; a third method points elsewhere, and random scores meet at one word
    of ten.
    """
    methods = ["lrp", "gradient_x_input", "deeplift"]
    shares = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    run = ("hybrid_bbc", "cnn", 1)
    common = [pointing.WordsInCommon(run, f"t{at}", methods, shares, 10) for at in range(40)]
    found = pointing.same_word(Recorder(), common)
    assert (
        found.value == 1
        and abs(found.by_scores.mean() - 0.1) < 0.05
        and found.by_names.mean() < 0.7
    )
    claim = next(
        claim for claim in read_claims("poerner2018") if claim.id == "lrp-is-gradient-on-cnn"
    )
    assert score([claim], {claim.id: found}).verdict[0] == "reproduced"
    assert "no run of a CNN" in pointing.same_word(Recorder(), []).reason


# Turning one thing at a time: only what is contradicted, only what changes something, and in the
# right words


@pytest.mark.parametrize(
    ("expect", "ends", "texts", "then"),
    [
        ({"above": 0}, (0.1, 0.2), 30, INSIDE),
        ({"above": 0}, (-0.1, 0.2), 30, OPEN),
        ({"above": 0}, (-0.2, -0.1), 30, OUTSIDE),
        ({"above": 0}, (0.1, 0.2), 29, FEW),
        ({"near": 1, "within": 0.1}, (0.5, 0.8), 40, OUTSIDE),
        ({"near": 1, "within": 0.1}, (0.95, 1.05), 40, INSIDE),
        ({"near": 1, "within": 0.1}, (1.2, 1.3), 40, OUTSIDE),
        ({"near": 1, "within": 0.1}, (0.8, 1), 40, OPEN),
    ],
)
def test_an_interval_is_inside_outside_or_neither(expect, ends, texts, then):
    assert holds(Expectation(**expect), *ends, texts) == then


def test_only_contradicted_claims_are_turned_and_only_what_changes_them(tmp_path):
    claims = claims_of(tmp_path, {"id": "wrong"}, {"id": "right"})
    judged = score(claims, {"wrong": found(-0.5), "right": found(0.5)})
    asked = []

    def turn(one):
        asked.append(one.id)
        yield Turn("corpus", "same", found(-0.5))
        yield Turn("corpus", "nothing there", None)
        yield Turn("model", "no number", Finding(float("nan"), np.full(3, np.nan)))
        yield Turn("model", "GRU", found(0.3))
        yield Turn("metric", "another", found(0.3), Expectation(below=0))

    table = common.turned_table(claims, judged, turn, 0.95)
    assert (
        asked == ["wrong"]
        and list(table.claimed) == ["above 0", "below 0"]
        and (table.low < table.value).all()
    )
    found_so = [["model", "GRU", INSIDE], ["metric", "another", OUTSIDE]]
    assert table[["what", "how", "holds"]].to_numpy().tolist() == found_so
    empty = common.turned_table(claims[1:], judged[1:], turn, 0.95)
    assert (
        list(empty.columns) == list(table.columns)
        and common.say_turned(empty.to_dict("records")) == ""
    )


def test_the_sentence_names_what_holds_and_counts_what_does_not():
    def row(what, how, holds):
        return {"what": what, "how": how, "value": 0.5, "low": 0.25, "high": 0.75, "holds": holds}

    others = [row("method", str(at), OUTSIDE) for at in range(4)]
    said = common.say_turned([row("model", "GRU", INSIDE), row("corpus", "SST-2", OPEN), *others])
    assert (
        "(6 changes), it holds with model GRU (0.500 [0.250, 0.750]); is open with corpus SST-2"
        in said
    )
    assert said.endswith("does not hold with the other 4.")
    few = common.say_turned([row("model", "GRU", FEW), row("corpus", "SST-2", OUTSIDE)])
    assert (
        "it holds with none; is undecided with model GRU" in few
        and "does not hold with corpus SST-2 (0.5" in few
    )
