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
from compendium.papers.kamp2023.readings import DYNAMIC, PEOPLE, SIX, VotedText
from compendium.project import Results

RUN = ("snli", "tiny", 1)
ROWS = {"models": ["tiny"], "train_rows": 4, "dev_rows": 2, "test_rows": 2, "explain_rows": 4}
PAIR = ("lime", "gradient_l1")


def made_up(seed=0) -> list[VotedText]:
    """Random profiles of 8 to 13 tokens, with three people's marks on all texts but the first."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(6):
        length = 8 + i
        scores = {method: rng.standard_normal(length).round(1) for method in ("random", *SIX)}
        marks = (rng.random((3, length)) < 0.3).astype(float) * (i > 0)
        marks[:, 2] = i > 0
        out.append(VotedText(f"t{i}", tuple(f"w{j}" for j in range(length)), scores, marks))
    return out


@pytest.fixture
def step(monkeypatch):
    texts = made_up()
    monkeypatch.setattr(readings, "read_run", lambda step, run: texts)
    monkeypatch.setattr(agreement, "LENGTHS", (8, 10, 50))
    profile = Profile(
        name="made-up",
        agreement={"largest_k": 12, "tie_draws": 2},
        bootstrap={"draws": 40, "nulls": 19},
        models={"tiny": TINY},
        tasks={"snli": ROWS},
        explain={"methods": ["random"]},
    )
    made = {"profile": profile, "results": Learned(), "readings": texts}
    return SimpleNamespace(**made, progress=lambda what: lambda *_: None)


def change(step, **sections):
    """Change settings of sections of the step's profile."""
    made = {
        name: getattr(step.profile, name).model_copy(update=new) for name, new in sections.items()
    }
    step.profile = step.profile.model_copy(update=made)


def mean_of(step, k, pair=PAIR):
    """The mean agreement of a pair of voters."""
    return np.nanmean([r.agreement_at_k(pair, k, step.profile.agreement) for r in step.readings])


def test_dynamic_against_fixed(step):
    table = agreement.dynamic_against_fixed(step)
    assert len(table) == 21 * agreement.COMPARED
    one = table[(table.a == PAIR[0]) & (table.b == PAIR[1]) & (table.k == 3)].iloc[0]
    assert one.dynamic == pytest.approx(mean_of(step, DYNAMIC))
    assert one.fixed == pytest.approx(mean_of(step, 3))
    both = [
        [r.agreement_at_k(PAIR, k, step.profile.agreement) for k in (DYNAMIC, 3)]
        for r in step.readings
    ]
    assert one.difference == pytest.approx(-np.nanmean(np.diff(both)))
    assert one.difference_low <= one.difference <= one.difference_high and one.instances == 6
    assert (table[table.b == PEOPLE].instances == 5).all(), "one text is marked by nobody"
    matrix = agreement.dynamic_matrices(table, 3)["snli"]
    assert matrix.loc["Gradient (L1)", "LIME"] == pytest.approx(one.dynamic)
    assert matrix.loc["LIME", "Gradient (L1)"] == pytest.approx(one.difference)
    assert list(matrix)[-1] == "People" and np.isnan(np.diag(matrix)).all()
    change(step, agreement={"fixed_k": 12})
    assert agreement.dynamic_against_fixed(step).k.max() == 12, "a fixed k above ten is compared"


def test_table_1_adds_up_a_methods_pairs(step):
    compared = agreement.dynamic_against_fixed(step)
    own = (compared.a == "lime") | (compared.b == "lime")
    inside = compared[own & (compared.k == 2) & (compared.b != PEOPLE)].difference
    for way, expected in {
        "positive": inside.clip(0).sum(),
        "signed": inside.sum(),
    }.items():
        change(step, agreement={"improvement": way})
        table = agreement.improvement_table(step, compared)
        found = table[(table.method == "lime") & (table.k == 2)].improvement.iloc[0]
        assert len(table) == 6 * agreement.IMPROVED and found == pytest.approx(expected)
    beside = tables.with_published_improvement(table).set_index(["method", "k"]).published
    assert beside["gradient_x_input", 1] == 0.10 and beside["lime"].isna().all()


def test_peaks_are_counted_beside_the_published(step):
    table = tables.with_published_k(agreement.dynamic_k_table(step)).set_index("voter")
    assert list(table.index) == [*SIX, PEOPLE]
    counts = [len(CHOICES["released"](r.scores["lime"])) for r in step.readings]
    expected = [np.mean(counts), np.std(counts), 5.34]
    assert table.loc["lime", ["k", "sd", "published_k"]].tolist() == pytest.approx(expected)
    assert np.isnan(table.published_k[PEOPLE])


def test_groups_texts_and_lengths(step):
    table = agreement.group_table(step)
    assert set(table.group) == {"all six", "perturbation", "gradient"}
    six = table[table.group == "all six"].set_index("k").agreement
    assert list(six.index) == list(range(13)) and 1 / 6 <= six[1] < six[12] <= 1
    texts = agreement.sentence_table(step)
    assert list(texts.tokens) == [8, 9, 10, 11, 12, 13] and np.isnan(texts.people[0])
    assert texts.people[1:].between(1 / 3, 1).all()
    lengths = agreement.length_table(step)
    assert set(lengths.length) == {8, 10}, "nothing has 50 tokens"
    ends = lengths[lengths.k >= lengths.length]
    assert np.allclose(ends[["agreement", "chance"]], 1) and (lengths.instances == 1).all()


def test_the_summary_says_who_is_highest_and_lowest(step):
    columns = ["method_a", "method_b", "group", "k", "agreement"]
    rows = [
        ("lime", "gradient_l1", "", 4, 0.9),
        ("lime", "deeplift", "", 4, 0.6),
        ("random", "lime", "with random", 4, 0.5),
        ("lime", "deeplift", "", 5, 1.0),  # not shown
    ]
    pairs = pd.DataFrame(rows, columns=columns).assign(task="snli", model="tiny", seed=1)
    found = {
        "dynamic": agreement.dynamic_against_fixed(step),
        "dynamic_k": agreement.dynamic_k_table(step),
        "lengths": agreement.length_table(step),
        "with_people": tables.human_agreement_table(step),
        "predicted_k": tables.predicted_k_table(step),
    }
    table = sentences.agreement_summary(step, agreement=pairs, **found)
    by_name = table.set_index(["task", "quantity"])
    assert by_name.index.is_unique and by_name.value["all", "fixed_k"] == 4
    value = by_name.loc["snli"].value
    name = by_name.loc["snli"].name
    assert name["pairs_highest"] == "LIME and Gradient (L1)" and value["pairs_highest"] == 0.9
    assert name["pairs_lowest"] == "LIME and DeepLIFT" and value["pairs_random"] == 0.5
    assert (value["short"], value["long"], value["pairs"]) == (8, 10, 15)
    peaks = found["dynamic_k"].set_index("voter").k.drop(PEOPLE)
    assert value["dynamic_k_highest"] == peaks.max() > value["dynamic_k_lowest"] == peaks.min()
    assert name["dynamic_k_highest"] == readings.voter_title(peaks.idxmax())
    of_methods = found["dynamic"].query("k == 4 and b != @PEOPLE")
    assert value["closer_pairs"] == (of_methods.difference > 0).sum()
    random = found["with_people"].query("k == 4 and method == 'random'").agreement.item()
    assert value["people_random"] == random and value["people_lowest"] < value["people_highest"]
    errors = found["predicted_k"].groupby("rule").error.mean().drop("one_for_all")
    assert value["best_rule"] == errors.min()
    found |= {of: found[of].iloc[:0] for of in ("with_people", "predicted_k")}
    without = sentences.agreement_summary(step, agreement=pairs, **found)
    assert not {"best_rule", "people_highest", "people_random"} & set(without.quantity)


def test_agreement_with_people_and_k_from_a_profile_against_theirs(step):
    votes = tables.human_agreement_table(step)
    assert set(votes.method) == {*SIX, "random"}
    assert (votes[["instances", "unmarked"]] == [5, 1]).all(axis=None)
    table = tables.predicted_k_table(step)
    assert len(table) == 6 * (len(CHOICES) - 1) + 2
    marked = step.readings[1:]
    counts = [len(CHOICES["above_mean"](r.scores["lime"])) for r in marked]
    apart = np.array(counts) - [r.marks.sum(axis=1).mean() for r in marked]
    row = table[(table.method == "lime") & (table.rule == "above_mean")].iloc[0]
    assert (row.error, row.bias) == pytest.approx((np.abs(apart).mean(), apart.mean()))
    one = table[table.rule == "one_for_all"].iloc[0]
    assert one.bias == pytest.approx(0) and np.isnan(one.correlation)
    change(step, agreement={"people": "share"})
    assert (tables.human_agreement_table(step).agreement != votes.agreement).any()


def test_phrases_against_peoples(step):
    table = tables.phrase_table(step)
    assert set(table.selection) == {"fixed", "peaks", "phrases", "own"}
    fixed = table[table.selection == "fixed"]
    assert (fixed.tokens == step.profile.agreement.fixed_k).all() and table.f1.between(0, 1).all()
    marks = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1]])
    found = np.array(tables.each_against_others(marks)[0]).tolist()
    assert found == [[True, True, False, False], [True, False, False, True]]


def test_what_small_choices_move(step):
    ties = agreement.tie_table(step)
    assert len(ties) == 21 and (ties.farthest >= 0).all()
    signs = agreement.sign_table(step)
    assert set(signs.method) == set(SIX) - {"gradient_l1"}
    by_rule = agreement.rule_table(step).groupby("rule").k.mean()
    assert by_rule["paper"] <= by_rule["around"] <= by_rule["released"] <= by_rule["plateau_ends"]


def planted(low=(), agree=()):
    """Readings in which some methods select the same tokens and some stand alone."""
    rng = np.random.default_rng(3)
    spread = {m: 0.01 if m in agree else 5.0 if m in low else 0.7 for m in SIX}
    out = []
    for i in range(30):
        truth = rng.standard_normal(16)
        scores = {m: truth + spread[m] * rng.standard_normal(16) for m in SIX}
        marks = np.repeat((truth > 1.0)[None], 3, axis=0).astype(float)
        out.append(VotedText(f"t{i}", tuple("abcdefghijklmnop"), scores, marks))
    return out


def test_claims_are_reproduced_where_they_were_planted(step, monkeypatch):
    def verdicts(texts):
        monkeypatch.setattr(readings, "read_run", lambda step, run: texts)
        return claims.claims_table(step, claims.statistics_by_run(step)).set_index("claim")

    wanted = ["shap-lime-agree-most", "three-groups", "perturbation-nearer-to-people"]
    texts = planted(low=LOW, agree=("partition_shap", "lime"))
    others = "of people, on other texts than e-SNLI"
    assert verdicts(texts).verdict[wanted[2]] == "not testable here", others
    change(step, bootstrap={"draws": 400, "nulls": 39})
    monkeypatch.setitem(ORIGINALS, "kamp2023", Original(("snli",)))
    monkeypatch.setattr("compendium.corpora.at_hand", lambda _: True)
    table = verdicts(texts)
    assert set(table.index) == set(STATEMENTS) and len(table) == len(read_claims("kamp2023"))
    assert table.value.notna().all() and (table.texts == 30).all()
    assert table.metric["dynamic-k-shap"] == "as published", "of as many evaluations as the paper's"
    assert table.verdict[wanted].tolist() == ["reproduced"] * 3
    assert table.value[wanted[0]] == 1 and table.null_scores[wanted[0]] < 0.8
    assert "30 texts" in table.basis[wanted[0]]
    assert table.verdict["agreement-rises-with-k"] == "holds by chance too", "as of random scores"
    again = verdicts(planted(low=("partition_shap", "lime"), agree=LOW))
    assert again.verdict[wanted].tolist() == ["contradicted"] * 3


def test_claims_are_decided_on_the_papers_texts_where_they_can_be(step):
    known = Finding(1.0, np.ones(50), texts=40)
    runs = {"rated_movies": known, "snli": known, "esnli": untested("nobody")}

    def basis_of(**texts):
        measured = {}
        for task, found in runs.items():
            one = replace(found, basis=task, texts=texts.get(task, found.texts))
            measured[task, "m", 1] = dict.fromkeys(STATEMENTS, one)
        assert len(claims.claims_by_run(step, measured)) == 3 * len(STATEMENTS)
        return set(claims.claims_table(step, measured).basis)

    assert basis_of() == {"snli"} and claims.claims_by_run(step, {}).empty
    assert basis_of(snli=4) == {"rated_movies"}, "four texts of the paper's decide nothing"


def test_the_numbers_of_a_text_are_those_that_readings_give(step):
    """Every pair, method and k: the matrix form against one call each."""
    spec = step.profile.agreement
    for reading in step.readings[:3]:
        found = named(claim_statistics.values_of(reading, spec, np.zeros(2)))
        pairs = dict(zip(claim_statistics.PAIRS, found["pairs"], strict=True))
        if reading.marked:
            pairs |= {(SIX[at], PEOPLE): values for at, values in enumerate(found["people"])}
        for pair, values in pairs.items():
            expected = [reading.agreement_at_k(pair, k, spec) for k in claim_statistics.KS]
            np.testing.assert_allclose(values, expected, atol=1e-12, err_msg=str(pair))


def test_scores_in_random_order_keep_lengths_ties_and_signs(step):
    known = step.readings[0].scores
    other = claims.in_random_order(step.readings[0], np.random.default_rng(0)).scores
    for method, scores in known.items():
        np.testing.assert_array_equal(np.sort(other[method]), np.sort(scores))
    assert any((other[m] != s).any() for m, s in known.items())


def test_exchanged_names_move_whole_methods():
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
    texts = [replace(r, marks=np.zeros((0, len(r.tokens)))) for r in planted(low=LOW)]
    monkeypatch.setattr(readings, "read_run", lambda step, run: texts)
    table = claims.claims_table(step, claims.statistics_by_run(step)).set_index("claim")
    of_people = [name for name in table.index if "people" in name or name == "advantage-vanishes"]
    assert list(table.index[table.verdict == "not testable here"]) == of_people
    with_people = tables.human_agreement_table(step)
    others = (tables.predicted_k_table(step), tables.phrase_table(step))
    assert all(one.empty for one in (with_people, *others))
    assert figures.figure_2b(with_people).texts[0].get_text() == "nobody marked these texts"


def test_seeds_are_compared_on_what_all_runs_have():
    one = {("t0", "lime"): np.ones(2), ("t1", "lime"): np.ones(3)}
    other = one | {("t2", "lime"): np.ones(1)}
    keys, runs = seeds.align([one, dict(reversed(other.items()))])
    assert keys == [("t0", "lime"), ("t1", "lime")]
    assert [list(map(len, profiles)) for profiles in runs] == [[2, 3], [2, 3]]
    apd = pd.DataFrame({"seed": [1, 2], "apd": [0.2, 0.1]}).assign(task="snli", model="m")
    beside = tables.table_2(apd)
    assert list(beside.seed) == [2, 1] and list(beside.published_apd) == [0.00595, 0.00599]
    assert figures.figure_seeds(beside).get_legend() is not None


def test_tables_are_of_the_run_of_lowest_difference_where_the_profile_says_so(step, monkeypatch):
    texts = {1: made_up(1), 2: made_up(2)}
    monkeypatch.setattr(readings, "read_run", lambda step, run: texts[run[2]])
    apd = pd.DataFrame({"seed": [1, 2], "chosen": [False, True]}).assign(task="snli", model="tiny")
    stored = step.results.read_table
    step.results = SimpleNamespace(
        read_table=lambda name, *of: apd if name == "apd" else stored(name, *of)
    )
    made = (agreement.group_table, tables.human_agreement_table, agreement.rule_table)
    given = step.profile.model_dump()
    for runs, of_seeds in (("all", [1, 2]), ("lowest_apd", [2])):
        given |= {"agreement": {"runs": runs, "largest_k": 4}}
        given["tasks"]["snli"]["seeds"] = [1, 2]
        step.profile = Profile.model_validate(given)
        assert readings.agreement_runs(step) == [("snli", "tiny", seed) for seed in of_seeds]
        assert all(list(table(step).seed.unique()) == of_seeds for table in made)
    assert [run[2] for run in claims.statistics_by_run(step)] == [2]
    given["tasks"]["snli"]["seeds"] = [1]
    step.profile = Profile.model_validate(given)
    step.results = None  # nothing to choose, so no study is asked for
    assert readings.agreement_runs(step) == [("snli", "tiny", 1)]


def test_ties_are_broken_alike_in_the_table_of_all_pairs_and_in_the_others(step):
    """Scores of few values: at random, two tables agree to the last digit, unlike the mean."""
    for reading in step.readings:
        for method in reading.scores:
            reading.scores[method][:] = np.round(reading.scores[method])
    expected = {pair: mean_of(step, 3, pair) for pair in (PAIR, ("partition_shap", "lime"))}
    for ties in ("expectation", "random"):
        change(step, agreement={"ties": ties})
        of_all = agreement.agreement_table(step).query("k == 3")
        fixed = agreement.dynamic_against_fixed(step).query("k == 3 and b != @PEOPLE")
        first = {frozenset(row[3:5]): row.agreement for row in of_all.itertuples(index=False)}
        second = {frozenset(row[3:5]): row.fixed for row in fixed.itertuples(index=False)}
        for pair, mean in expected.items():
            names = frozenset(pair)
            assert first[names] == pytest.approx(second[names])
            assert (first[names] == pytest.approx(mean)) == (ties == "expectation")


def test_spread_is_the_distance_over_the_least_run(step):
    apd = pd.DataFrame({"apd": [0.2, 0.25, 0.21], "low": [0, 0.1, -0.1], "least": [0.7, 0, 0.3]})
    apd = apd.assign(task="snli", model="tiny", chosen=apd.apd == 0.2, chance=0.02, p=0.01)
    table = seeds.spread_table(step, apd).set_index("study")
    assert list(table.index) == ["main", "published"]
    assert table.spread.tolist() == pytest.approx([0.25, 0.0555], abs=1e-4)
    main = table.loc["main", ["surely", "stays", "chance", "train_rows"]]
    assert main.tolist() == [1, 0.7, 0.02, 4] and table.runs["published"] == 10
    said = sentences.say_seeds(table.reset_index())
    assert "25.0 % on SNLI (3 runs, 0.20000 to 0.25000; 2.0 %" in said
    assert "in 70 % of the draws; 1 of the other 2" in said


def test_figures_show_what_they_are_given(step):
    lengths = agreement.length_table(step)
    named = {text.get_text() for text in figures.figure_6(lengths.assign(instances=5)).texts}
    assert named == {"8 tokens (n = 5)", "10 tokens (n = 5)"}
    (words,) = figures.figure_6(lengths.assign(instances=4)).texts
    assert words.get_text().startswith("no text has"), "the mean of so few says nothing"
    reading = step.readings[0]
    bars = figures.draw_profile(reading, "lime", "released").patches
    chosen = set(CHOICES["released"](reading.scores["lime"]))
    plain = bars[min(set(range(8)) - chosen)].get_facecolor()
    assert {i for i, bar in enumerate(bars) if bar.get_facecolor() != plain} == chosen


def test_methods_that_agree_stand_side_by_side_in_the_matrix():
    names = ["a", "b", "twin of a", "c", "twin of b"]
    matrix = pd.DataFrame(np.full((5, 5), 0.5), index=names, columns=names)
    for one in "ab":
        matrix.loc[one, f"twin of {one}"] = matrix.loc[f"twin of {one}", one] = 0.99
    order = figures.similar_beside(matrix)
    assert sorted(order) == sorted(names)
    assert all(abs(order.index(one) - order.index(f"twin of {one}")) == 1 for one in "ab")


def test_every_published_quantity_has_a_place():
    """What is not in this table is in that of people's marks."""
    every = {*tables.TITLES, *tables.QUANTITIES}
    assert set(reported("kamp_dataset_stats").quantity) == every
    with pytest.raises(FileNotFoundError, match="kamp_table1"):
        reported("kamp_table9")


def test_what_is_there_is_counted_and_what_is_not_says_so(tmp_path, monkeypatch):
    step = Recorder()
    nothing = tables.dataset_table(step)
    assert nothing.ours.isna().all() and set(nothing.reason) == {tables.NO_TASK}
    assert len(nothing) == len(tables.TITLES)
    esnli = step.profile.tasks["snli"].changed(models=["tiny"], of_model={}, judges=["agreement"])
    step.profile = step.profile.model_copy(update={"tasks": {"snli": esnli, "esnli": esnli}})
    step.results = Results(tmp_path)
    accuracy = pd.DataFrame({"train_rows": [96], "macro_f1": [0.25]})
    write_csv(step.results.table("accuracy", "02_train", "snli", "tiny", 1), accuracy)
    texts = {"dev": ["a b"], "test": ["a film was", "the film was very slow"]}
    made = {split: [models.instance(t, "not bad") for t in of] for split, of in texts.items()}
    monkeypatch.setattr(corpora, "load_task", lambda task, split: made[split])
    found = tables.dataset_table(step).set_index("quantity")
    assert found.ours.dropna().to_dict() == {
        "dev_rows": 1,
        "test_rows": 2,
        "words_min": 4,
        "words_max": 7,
        "words_mean": round((4 + 5 + 7) / 3, 3),
        "max_len_subtokens": 64,
        "train_rows_after_drop": 96,
        "macro_f1_test": 0.25,
    }
    assert found.published["test_rows"] == 9824
    assert (found.reason == np.where(found.ours.isna(), tables.ELSEWHERE, "")).all()
