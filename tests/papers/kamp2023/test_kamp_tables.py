"""The tables of the agreement notebook, on made-up profiles whose results can be told."""

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import models
from reference.profiles import TINY
from reference.steps import Learned, Recorder

from attreval.core.tables import write_csv
from attreval.metrics.dynamic_k import CHOICES
from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.claims import read_claims
from compendium.papers.common.contrasts import ORIGINALS, Original
from compendium.papers.common.runs import reported
from compendium.papers.common.verdicts import Finding, untested
from compendium.papers.kamp2023 import (
    agreement,
    claim_statistics,
    claims,
    figures,
    readings,
    seeds,
    sentences,
    tables,
)
from compendium.papers.kamp2023.agreement import LOW
from compendium.papers.kamp2023.claim_statistics import STATEMENTS, named
from compendium.papers.kamp2023.readings import DYNAMIC, PEOPLE, SIX, Reading
from compendium.project import Results

RUN = ("snli", "tiny", 1)
ROWS = {"models": ["tiny"], "train_rows": 4, "dev_rows": 2, "test_rows": 2, "explain_rows": 4}


def made_up(n: int = 8, texts: int = 6, seed: int = 0, people: int = 3) -> list[Reading]:
    """Random profiles by the six methods and random, with marks of people on all texts but the
    first.
    """
    rng = np.random.default_rng(seed)
    out = []
    for i in range(texts):
        length = n + i
        scores = {method: rng.standard_normal(length).round(1) for method in ("random", *SIX)}
        marks = (rng.random((people, length)) < 0.3).astype(float) * (i > 0)
        marks[:, 2] = i > 0
        out.append(Reading(f"t{i}", tuple(f"w{j}" for j in range(length)), scores, marks))
    return out


@pytest.fixture
def step(monkeypatch):
    texts = made_up()
    monkeypatch.setattr(readings, "read_run", lambda step, run: texts)
    monkeypatch.setattr(agreement, "LENGTHS", (8, 10, 50))
    given = {
        "agreement": {"largest_k": 12, "tie_draws": 2},
        "bootstrap": {"draws": 40, "nulls": 19},
    }
    given |= {"models": {"tiny": TINY}, "tasks": {"snli": ROWS}, "explain": {"methods": ["random"]}}
    made = {"profile": Profile(name="made-up", **given), "results": Learned(), "readings": texts}
    return SimpleNamespace(**made, progress=lambda what: lambda *_: None)


def settings(step, **changed):
    """The step with settings of agreement changed."""
    agreement = step.profile.agreement.model_copy(update=changed)
    step.profile = step.profile.model_copy(update={"agreement": agreement})
    return agreement


def test_dynamic_against_fixed(step):
    table = agreement.dynamic_against_fixed(step)
    assert len(table) == 21 * agreement.COMPARED
    one = table[(table.a == "lime") & (table.b == "gradient_l1") & (table.k == 3)].iloc[0]
    spec = step.profile.agreement
    dynamic = [r.agreement_at_k(("lime", "gradient_l1"), DYNAMIC, spec) for r in step.readings]
    fixed = [r.agreement_at_k(("lime", "gradient_l1"), 3, spec) for r in step.readings]
    assert one.dynamic == pytest.approx(np.nanmean(dynamic)) and one.fixed == pytest.approx(
        np.mean(fixed)
    )
    assert one.difference == pytest.approx(np.nanmean(np.subtract(dynamic, fixed)))
    assert one.difference_low <= one.difference <= one.difference_high and one.instances == 6
    assert (table[table.b == PEOPLE].instances == 5).all()  # one text is marked by nobody
    matrix = agreement.dynamic_matrices(table, 3)["snli"]
    assert matrix.loc["Gradient (L1)", "LIME"] == pytest.approx(one.dynamic)
    assert matrix.loc["LIME", "Gradient (L1)"] == pytest.approx(one.difference)
    assert list(matrix)[-1] == "People" and np.isnan(np.diag(matrix)).all()
    settings(step, fixed_k=12)
    compared = agreement.dynamic_against_fixed(step)
    assert compared.k.max() == 12, "the fixed k is compared too where it is more than ten"
    shown = compared[(compared.k == 12) & (compared.a == "lime") & (compared.b == "gradient_l1")]
    matrix = agreement.dynamic_matrices(compared, 12)["snli"]
    assert matrix.loc["LIME", "Gradient (L1)"] == pytest.approx(shown.difference.iloc[0])


def test_table_1_adds_up_a_methods_pairs(step):
    compared = agreement.dynamic_against_fixed(step)
    inside = compared[
        (compared.k == 2)
        & (compared.b != PEOPLE)
        & ((compared.a == "lime") | (compared.b == "lime"))
    ]
    differences = inside.difference.to_numpy()
    expected = {
        "positive": differences.clip(0).sum(),
        "signed": differences.sum(),
        "mean": differences.sum() / 5,
    }
    for way, improvement in expected.items():
        settings(step, improvement=way)
        table = agreement.improvement_table(step, compared)
        found = table[(table.method == "lime") & (table.k == 2)].improvement.iloc[0]
        assert len(table) == 6 * agreement.IMPROVED and found == pytest.approx(improvement)
    beside = tables.with_published_improvement(table)
    assert beside[(beside.method == "gradient_x_input") & (beside.k == 1)].published.iloc[0] == 0.10
    assert beside[beside.method == "lime"].published.isna().all()


def test_peaks_are_counted_beside_the_published(step):
    table = tables.with_published_k(agreement.dynamic_k_table(step))
    assert list(table.voter) == [*SIX, PEOPLE]
    counts = [len(CHOICES["released"](r.scores["lime"])) for r in step.readings]
    row = table.set_index("voter").loc["lime"]
    assert row.k == pytest.approx(np.mean(counts)) and row.sd == pytest.approx(np.std(counts))
    assert row.published_k == pytest.approx(5.34) and np.isnan(
        table.set_index("voter").published_k[PEOPLE]
    )


def test_groups_texts_and_lengths(step):
    table = agreement.group_table(step)
    assert set(table.group) == {"all six", "perturbation", "gradient"} and set(table.k) == set(
        range(13)
    )
    six = table[table.group == "all six"].set_index("k").agreement
    assert 1 / 6 <= six[1] < six[12] <= 1
    texts = agreement.sentence_table(step)
    assert list(texts.tokens) == [8, 9, 10, 11, 12, 13] and np.isnan(texts.people[0])
    assert texts.people[1:].between(1 / 3, 1).all() and "pieces" not in texts
    lengths = agreement.length_table(step)
    assert (
        set(lengths.length) == {8, 10} and (lengths.instances == 1).all()
    )  # nothing has 50 tokens
    ends = lengths[lengths.k >= lengths.length]
    assert np.allclose(ends.agreement, 1) and np.allclose(ends.chance, 1)


def test_the_summary_says_who_is_highest_and_lowest(step):
    columns = [
        "task",
        "model",
        "seed",
        "method_a",
        "method_b",
        "group",
        "k",
        "agreement",
        "instances",
    ]
    pairs = [("lime", "gradient_l1", "", 4, 0.9), ("lime", "deeplift", "", 4, 0.6)]
    pairs += [
        ("random", "lime", "with random", 4, 0.5),
        ("lime", "deeplift", "", 5, 1.0),
    ]  # the last is not shown
    pairs = [(*RUN, *pair, 6) for pair in pairs]
    found = {
        "dynamic": agreement.dynamic_against_fixed(step),
        "dynamic_k": agreement.dynamic_k_table(step),
    }
    found |= {"groups": agreement.group_table(step), "lengths": agreement.length_table(step)}
    found |= {
        "with_people": tables.human_agreement_table(step),
        "predicted_k": tables.predicted_k_table(step),
    }
    table = sentences.summary_table(step, agreement=pd.DataFrame(pairs, columns=columns), **found)
    by_name = table.set_index(["task", "quantity"])
    assert by_name.index.is_unique and by_name.value[("all", "fixed_k")] == 4
    texts = by_name.loc["snli"]
    assert (
        texts.name["pairs_highest"] == "LIME and Gradient (L1)"
        and texts.value["pairs_highest"] == 0.9
    )
    assert texts.name["pairs_lowest"] == "LIME and DeepLIFT" and texts.value["pairs_random"] == 0.5
    assert texts.value["short"] == 8 and texts.value["long"] == 10 and texts.value["pairs"] == 15
    peaks = found["dynamic_k"].set_index("voter").k.drop(PEOPLE)
    assert (
        texts.value["dynamic_k_highest"]
        == peaks.max()
        > texts.value["dynamic_k_lowest"]
        == peaks.min()
    )
    assert texts.name["dynamic_k_highest"] == readings.voter_title(peaks.idxmax())
    differences = found["dynamic"].query("k == 4 and b != @PEOPLE").difference
    assert texts.value["closer_pairs"] == (differences > 0).sum()
    random = found["with_people"].query("k == 4 and method == 'random'").agreement.iloc[0]
    assert (
        texts.value["people_random"] == random
        and texts.value["people_lowest"] < texts.value["people_highest"]
    )
    assert (
        texts.value["best_rule"]
        == found["predicted_k"].groupby("rule").error.mean().drop("one_for_all").min()
    )
    nobody = {
        name: part.iloc[:0] if "predicted" in name or "people" in name else part
        for name, part in found.items()
    }
    without = sentences.summary_table(
        step, agreement=pd.DataFrame(pairs, columns=columns), **nobody
    )
    assert not {"best_rule", "people_highest", "people_random"} & set(without.quantity)


def test_agreement_with_people_and_k_from_a_profile_against_theirs(step):
    votes = tables.human_agreement_table(step)
    assert (
        set(votes.method) == {*SIX, "random"}
        and (votes.instances == 5).all()
        and (votes.unmarked == 1).all()
    )
    table = tables.predicted_k_table(step)
    assert len(table) == 6 * (len(CHOICES) - 1) + 2
    marked = step.readings[1:]
    given = np.array([r.marks.sum(axis=1).mean() for r in marked])
    found = np.array([len(CHOICES["above_mean"](r.scores["lime"])) for r in marked])
    row = table[(table.method == "lime") & (table.rule == "above_mean")].iloc[0]
    assert (row.error, row.bias) == pytest.approx(
        (np.abs(found - given).mean(), (found - given).mean())
    )
    one = table[table.rule == "one_for_all"].iloc[0]
    assert one.bias == pytest.approx(0) and np.isnan(one.correlation)
    settings(step, people="share")
    assert (tables.human_agreement_table(step).agreement != votes.agreement).any()


def test_phrases_against_peoples(step):
    table = tables.phrase_table(step)
    assert set(table.selection) == {"fixed", "peaks", "phrases", "own"}
    fixed = table[table.selection == "fixed"]
    assert (fixed.tokens == step.profile.agreement.fixed_k).all() and table.f1.between(0, 1).all()
    marks = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1]])
    own, others = tables.each_against_others(marks)[0]
    assert own.tolist() == [True, True, False, False] and others.tolist() == [
        True,
        False,
        False,
        True,
    ]


def test_what_small_choices_move(step):
    ties = agreement.tie_table(step)
    assert len(ties) == 21 and (ties.farthest >= 0).all()
    signs = agreement.sign_table(step)
    assert set(signs.method) == set(SIX) - {"gradient_l1"} and list(signs.sign[:2]) == [
        "signed",
        "unsigned",
    ]
    rules = agreement.rule_table(step)
    by_rule = rules.groupby("rule").k.mean()
    assert by_rule["paper"] <= by_rule["around"] <= by_rule["released"] <= by_rule["plateau_ends"]


def planted(low=(), agree=()):
    """Readings in which some methods select the same tokens and some stand alone."""
    rng = np.random.default_rng(3)
    out = []
    for i in range(30):
        truth = rng.standard_normal(16)
        scores = {
            m: truth + (0.01 if m in agree else 5.0 if m in low else 0.7) * rng.standard_normal(16)
            for m in SIX
        }
        out.append(
            Reading(f"t{i}", tuple("abcdefghijklmnop"), scores, (truth > 1)[None] * np.ones((3, 1)))
        )
    return out


def test_claims_are_reproduced_where_they_were_planted(step, monkeypatch):
    def verdicts(texts):
        monkeypatch.setattr(readings, "read_run", lambda step, run: texts)
        return claims.claims_table(step, claims.statistics_by_run(step)).set_index("claim")

    wanted = ["shap-lime-agree-most", "three-groups", "perturbation-nearer-to-people"]
    texts = planted(low=LOW, agree=("partition_shap", "lime"))
    assert (
        verdicts(texts).verdict[wanted[2]] == "not testable here"
    )  # of people, on other texts than e-SNLI
    bootstrap = step.profile.bootstrap.model_copy(update={"draws": 400, "nulls": 39})
    step.profile = step.profile.model_copy(update={"bootstrap": bootstrap})
    monkeypatch.setitem(ORIGINALS, "kamp2023", Original(("snli",)))
    monkeypatch.setattr("compendium.corpora.at_hand", lambda _: True)
    table = verdicts(texts)
    assert set(table.index) == set(STATEMENTS) and table.value.notna().all()
    assert table.metric["dynamic-k-shap"] == "as published", "of as many evaluations as the paper's"
    assert table.verdict[wanted].tolist() == ["reproduced"] * 3
    assert (
        table.value[wanted[0]] == 1
        and table.low[wanted[2]] > 0
        and "30 texts" in table.basis[wanted[0]]
    )
    assert (table.texts == 30).all() and table.null_scores[wanted[0]] < 0.8
    assert table.verdict["agreement-rises-with-k"] == "inconclusive"  # nothing rises here
    assert len(table) == len(read_claims("kamp2023"))
    again = verdicts(planted(low=("partition_shap", "lime"), agree=LOW))
    assert again.verdict[wanted].tolist() == ["contradicted"] * 3
    half = bootstrap.model_copy(update={"confidence": 0.5})
    step.profile = step.profile.model_copy(update={"bootstrap": half})
    assert verdicts(texts).low[wanted[2]] > table.low[wanted[2]], (
        "intervals are as sure as the profile asks"
    )


def test_claims_are_decided_on_the_papers_texts_where_they_can_be(step):
    known = Finding(1.0, np.ones(50), texts=40)
    runs = {"rated_movies": known, "snli": known, "esnli": untested("nobody")}
    measured = {
        (t, "m", 1): {c: replace(found, basis=t) for c in STATEMENTS} for t, found in runs.items()
    }
    assert set(claims.claims_table(step, measured).basis) == {"snli"}
    assert len(claims.claims_by_run(step, measured)) == 3 * len(STATEMENTS)
    assert claims.claims_by_run(step, {}).empty
    sizes = {"rated_movies": 40, "snli": 4, "esnli": 40}
    few = {
        run: {c: replace(f, texts=sizes[run[0]]) for c, f in of.items()}
        for run, of in measured.items()
    }
    assert set(claims.claims_table(step, few).basis) == {"rated_movies"}, (
        "four texts of the paper's decide nothing"
    )


def test_the_numbers_of_a_text_are_those_that_readings_give(step):
    """Every pair, method and k: the matrix form against one call each."""
    spec = step.profile.agreement
    for reading in step.readings[:3]:
        found = named(claim_statistics.values_of(reading, spec, np.zeros(2)))
        pairs = dict(zip(claim_statistics.PAIRS, found["pairs"], strict=True))
        if reading.marked:
            pairs |= {(SIX[at], PEOPLE): values for at, values in enumerate(found["people"])}
        for pair, values in pairs.items():
            for k in claim_statistics.KS:
                expected = reading.agreement_at_k(pair, k, spec)
                np.testing.assert_allclose(values[k], expected, atol=1e-12, err_msg=str(pair))


def test_scores_in_random_order_keep_lengths_ties_and_signs(step):
    known = step.readings[0].scores
    other = claims.in_random_order(step.readings[0], np.random.default_rng(0)).scores
    for method, scores in known.items():
        np.testing.assert_array_equal(np.sort(other[method]), np.sort(scores))
    assert any((other[m] != s).any() for m, s in known.items())


def test_exchanged_names_move_whole_methods():
    """A method that is the same as another gives up nothing; one that stands alone gives its place
    to others.
    """
    values = np.arange(claim_statistics.NUMBERS.itemsize / 8)
    own = named(values)
    drawn = claim_statistics.with_exchanged_names(values[None], 1, np.random.default_rng(1))
    world = named(drawn)[0, 0]
    new = (world["k"] - own["k"][0]).astype(int)
    assert sorted(new) == list(range(6))
    for at, (one, other) in enumerate(combinations(range(6), 2)):
        pair = tuple(SIX[method] for method in sorted((new[one], new[other])))
        expected = own["pairs"][claim_statistics.PAIRS.index(pair)]
        np.testing.assert_array_equal(world["pairs"][at], expected)
    np.testing.assert_array_equal(world["people"], own["people"][new])
    assert [world[name] for name in ("short_rise", "long_rise", "spans")] == list(values[-3:])


def test_without_people_claims_about_them_are_not_testable(step, monkeypatch):
    texts = planted(low=LOW)
    texts = [Reading(r.instance, r.tokens, r.scores, np.zeros((0, len(r.tokens)))) for r in texts]
    monkeypatch.setattr(readings, "read_run", lambda step, run: texts)
    table = claims.claims_table(step, claims.statistics_by_run(step)).set_index("claim")
    assert set(table.index[table.verdict == "not testable here"]) == {
        c for c in table.index if "people" in c or c == "advantage-vanishes"
    }
    with_people = tables.human_agreement_table(step)
    assert (
        with_people.empty
        and tables.predicted_k_table(step).empty
        and tables.phrase_table(step).empty
    )
    assert figures.figure_2b(with_people).texts[0].get_text() == "nobody marked these texts"


def test_seeds_are_compared_on_what_all_runs_have():
    a = {("t0", "lime"): np.ones(2), ("t1", "lime"): np.ones(3)}
    b = {("t1", "lime"): np.zeros(3), ("t0", "lime"): np.zeros(2), ("t2", "lime"): np.ones(1)}
    keys, (left, right) = seeds.align([a, b])
    assert keys == [("t0", "lime"), ("t1", "lime")]
    assert [len(scores) for scores in left] == [len(scores) for scores in right] == [2, 3]
    table = pd.DataFrame(
        {"task": "snli", "model": "m", "seed": [1, 2], "accuracy": 0.5, "apd": [0.2, 0.1]}
    )
    beside = tables.table_2(table.assign(chosen=[False, True]))
    assert list(beside.seed) == [2, 1] and list(beside.published_apd) == [0.00595, 0.00599]
    assert figures.figure_seeds(beside).get_legend() is not None


def two_seeds(step, monkeypatch, runs: str):
    """A step of one task with two seeds, whose readings differ; the study names seed 2."""
    texts = {1: made_up(seed=1), 2: made_up(seed=2)}
    monkeypatch.setattr(readings, "read_run", lambda step, run: texts[run[2]])
    spec = step.profile.model_dump() | {"agreement": {"runs": runs, "largest_k": 4}}
    spec["tasks"]["snli"]["seeds"] = [1, 2]
    step.profile = Profile.model_validate(spec)
    apd = pd.DataFrame(
        {
            "task": "snli",
            "model": "tiny",
            "seed": [1, 2],
            "apd": [0.2, 0.1],
            "chosen": [False, True],
        }
    )
    stored = step.results.read_table if step.results else None
    step.results = SimpleNamespace(
        read_table=lambda name, *of: apd if name == "apd" else stored(name, *of)
    )
    return step


def test_tables_are_of_the_run_of_lowest_difference_where_the_profile_says_so(step, monkeypatch):
    assert readings.agreement_runs(two_seeds(step, monkeypatch, "all")) == [
        ("snli", "tiny", 1),
        ("snli", "tiny", 2),
    ]
    assert set(agreement.group_table(step).seed) == {1, 2}
    step = two_seeds(step, monkeypatch, "lowest_apd")
    assert readings.agreement_runs(step) == [("snli", "tiny", 2)]
    for made in (
        agreement.group_table,
        agreement.dynamic_k_table,
        tables.human_agreement_table,
        agreement.rule_table,
    ):
        assert set(made(step).seed) == {2}
    assert {run[2] for run in claims.statistics_by_run(step)} == {2}
    one = step.profile.model_dump()
    one["tasks"]["snli"]["seeds"] = [1]
    step.profile = Profile.model_validate(one)
    step.results = None  # nothing to choose, so no study is asked for
    assert readings.agreement_runs(step) == [("snli", "tiny", 1)]


@pytest.mark.parametrize("ties", ["expectation", "random"])
def test_ties_are_broken_alike_in_the_table_of_all_pairs_and_in_the_others(step, monkeypatch, ties):
    """Scores of few values: at random, two tables of one pair agree to the last digit, and differ
    from the mean.
    """
    settings(step, ties=ties)
    for reading in step.readings:
        for method in reading.scores:
            reading.scores[method][:] = np.round(reading.scores[method])
    step.results = None
    table = agreement.agreement_table(step).set_index(["method_a", "method_b", "k"]).agreement
    fixed = agreement.dynamic_against_fixed(step)
    fixed = fixed[fixed.b != PEOPLE].set_index(["a", "b", "k"]).fixed
    expected = step.profile.agreement.model_copy(update={"ties": "expectation"})
    for a, b in (("lime", "gradient_l1"), ("partition_shap", "lime")):
        pair = next(pair for pair in ((a, b), (b, a)) if (*pair, 3) in table.index)
        both = next(fixed[(*p, 3)] for p in ((a, b), (b, a)) if (*p, 3) in fixed.index)
        mean = np.mean([r.agreement_at_k((a, b), 3, expected) for r in step.readings])
        assert table[(*pair, 3)] == pytest.approx(both)
        assert (table[(*pair, 3)] == pytest.approx(mean)) == (ties == "expectation")


def test_spread_is_the_distance_over_the_least_run(step):
    apd = pd.DataFrame(
        {"task": "snli", "model": "tiny", "seed": [1, 2, 3], "apd": [0.2, 0.25, 0.21]}
    )
    apd = apd.assign(
        chosen=[True, False, False], low=[0, 0.1, -0.1], least=[0.7, 0, 0.3], chance=0.02, p=0.01
    )
    table = seeds.spread_table(step, apd).set_index("study")
    assert table.surely["main"] == 1 and table.stays["main"] == 0.7 and table.chance["main"] == 0.02
    said = sentences.say_seeds(table.reset_index())
    assert "25.0 % on SNLI (3 runs, 0.20000 to 0.25000; 2.0 %" in said
    assert "in 70 % of the draws; 1 of the other 2" in said
    assert list(table.index) == ["main", "published"] and table.spread["main"] == pytest.approx(
        0.25
    )
    assert table.train_rows["main"] == 4 and table.runs["published"] == 10
    assert table.spread["published"] == pytest.approx(0.0555, abs=1e-4)


def test_figures_show_what_they_are_given(step):
    lengths = agreement.length_table(step)
    named = {text.get_text() for text in figures.figure_6(lengths.assign(instances=5)).texts}
    assert named == {"8 tokens (n = 5)", "10 tokens (n = 5)"}
    (words,) = figures.figure_6(
        lengths.assign(instances=4)
    ).texts  # the mean of so few says nothing
    assert words.get_text().startswith("no text has")
    assert {p.get_label() for p in figures.figure_2b(tables.human_agreement_table(step)).lines} >= {
        "LIME",
        "Random",
    }
    reading = step.readings[0]
    bars = figures.draw_profile(reading, "lime", "released").patches
    chosen = set(CHOICES["released"](reading.scores["lime"]))
    plain = bars[min(set(range(8)) - chosen)].get_facecolor()
    assert {i for i, bar in enumerate(bars) if bar.get_facecolor() != plain} == chosen


def test_methods_that_agree_stand_side_by_side_in_the_matrix():
    names = ["a", "b", "twin of a", "c", "twin of b"]
    matrix = pd.DataFrame(np.full((5, 5), 0.5), index=names, columns=names)
    for one, other in (("a", "twin of a"), ("b", "twin of b")):
        matrix.loc[one, other] = matrix.loc[other, one] = 0.99
    order = figures.similar_beside(matrix)
    assert sorted(order) == sorted(names)
    assert all(abs(order.index(one) - order.index(f"twin of {one}")) == 1 for one in "ab")


ELSEWHERE = {"highlighted_tokens_annotator1_devtest", "highlighted_tokens_annotator2_devtest"}
ELSEWHERE |= {
    "highlighted_tokens_annotator3_devtest",
    "annotator_mean_IoU",
    "annotator_intersection_over_min",
}


def test_every_published_quantity_has_a_place():
    """What is not in this table is in that of people's marks."""
    assert set(reported("kamp_dataset_stats").quantity) == set(tables.TITLES) | ELSEWHERE
    with pytest.raises(FileNotFoundError, match="kamp_table1"):
        reported("kamp_table9")


def test_what_is_there_is_counted_and_what_is_not_says_so(tmp_path, monkeypatch):
    step = Recorder()
    nothing = tables.dataset_table(step)
    assert (
        nothing.ours.isna().all()
        and set(nothing.reason) == {tables.NO_TASK}
        and len(nothing) == len(tables.TITLES)
    )
    esnli = step.profile.tasks["snli"].changed(models=["tiny"], of_model={}, judges=["agreement"])
    step.profile = step.profile.model_copy(update={"tasks": {"snli": esnli, "esnli": esnli}})
    step.results = Results(tmp_path)
    accuracy = pd.DataFrame({"train_rows": [96], "macro_f1": [0.25]})
    write_csv(step.results.table("accuracy", "02_train", "snli", "tiny", 1), accuracy)
    texts = {"dev": ["a b"], "test": ["a film was", "the film was very slow"]}
    monkeypatch.setattr(
        corpora, "load", lambda task, split: [models.instance(t, "not bad") for t in texts[split]]
    )
    found = tables.dataset_table(step).set_index("quantity")
    assert found.ours[["dev_rows", "test_rows", "words_min", "words_max"]].tolist() == [1, 2, 4, 7]
    assert (
        found.ours["words_mean"] == round((4 + 5 + 7) / 3, 3)
        and found.ours["max_len_subtokens"] == 64
    )
    assert found.ours["train_rows_after_drop"] == 96 and found.ours["macro_f1_test"] == 0.25
    assert found.published["test_rows"] == 9824 and found.reason["test_rows"] == ""
    assert (
        set(found[found.reason != ""].reason) == {tables.ELSEWHERE}
        and found.ours["macro_f1_dev"] != 0.25
    )
