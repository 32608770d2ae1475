"""The pointing game against its slow twin, where the answer is known, and beside the published table."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from reference import pointing as slow
from reference.models import SIGNAL, Planted, instance, tiny_tokenizer

from attreval import corpora
from attreval.core.alignment import tokenize
from attreval.core.records import Attribution, Evidence
from attreval.corpora import tasks
from attreval.explain import METHODS
from attreval.metrics import pointing_game as pointing
from attreval.papers.common import coloured_text
from attreval.papers.poerner2018 import figures
from attreval.papers.poerner2018 import tables as pointing_table

few_values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])  # few, so that ties are common
PUBLISHED = pointing_table.project.home() / "paper" / "reported"


@st.composite
def scored(draw, longest=9):
    n = draw(st.integers(1, longest))
    scores = np.array(draw(st.lists(few_values, min_size=n, max_size=n)))
    return scores, np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))


# One question


@given(given=scored())
def test_pointing_equals_enumeration_of_ties(given):
    scores, evidence = given
    assert pointing.point(scores, evidence) == pytest.approx(float(slow.point(scores, evidence)), abs=1e-15)


@given(given=scored(), data=st.data())
def test_pointing_ignores_order_scale_and_shift(given, data):
    scores, evidence = given
    order = np.array(data.draw(st.permutations(range(len(scores)))))
    moved = pointing.point(3 * scores[order] + 1, evidence[order])
    assert moved == pytest.approx(pointing.point(scores, evidence))


@given(given=scored())
def test_a_constant_scores_what_random_scores_and_the_first_is_the_originals(given):
    scores, evidence = given
    assert pointing.point(np.zeros(len(scores)), evidence) == pytest.approx(evidence.mean())
    assert pointing.point(scores, evidence, "first") == evidence[np.argmax(scores)]
    assume(np.sum(scores == scores.max()) == 1)
    assert pointing.point(scores, evidence, "first") == pointing.point(scores, evidence)


@pytest.mark.parametrize("evidence", [True, False])
def test_one_word_is_what_it_is(evidence):
    assert pointing.point([-4.0], [evidence]) == float(evidence)


@pytest.mark.parametrize(
    "scores, evidence, said",
    [
        ([1.0, np.nan], [True, False], "score 1 is nan"),
        ([np.inf, 0.0], [True, False], "score 0 is inf"),
        ([], [], "one score a word"),
        ([1.0], [True, False], "one score a word"),
    ],
)
def test_what_is_no_number_points_nowhere(scores, evidence, said):
    with pytest.raises(ValueError, match=said):
        pointing.point(scores, evidence)
    with pytest.raises(ValueError, match="'expectation' or to the 'first'; got 'last'"):
        pointing.point([1.0], [True], "last")


# Instances


def attribute(tokens, scores, method="m"):
    """An Attribution of (n,) scores to the content tokens."""
    return Attribution("x", method, 0, "token", tuple((int(t),) for t in tokens.content), np.asarray(scores, float))


def hits_of(rows, metric):
    return {row["method"]: row["hit"] for row in rows if row["metric"] == metric}


WORDS = ("unbelievably", "the", "film", "was", "good", "unbelievable", "slow")  # two of them in several pieces


@pytest.mark.parametrize("seed", range(8))
def test_hybrid_documents_with_pieces_of_words_and_truncation_equal_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    text = " ".join(rng.choice(WORDS, 12))
    classes = tuple(rng.integers(0, 3, 12).tolist())
    made = instance(text, label=0, evidence=Evidence(classes=classes))
    tokens = tokenize(made, tiny_tokenizer(), 10 + seed)  # cuts most of these texts
    scores = rng.integers(-2, 3, len(tokens.content)).astype(float)
    by_word = slow.word_scores(scores, tokens.word[tokens.content], 12)
    for predicted in range(3):
        rows = pointing.play(made, tokens, predicted, {"m": attribute(tokens, scores)})
        expected = slow.hybrid_hit(by_word, classes, predicted)
        hit = hits_of(rows, "hybrid")["m"]
        if expected is None:
            assert np.isnan(hit) and all(row["discarded"] for row in rows)
        else:
            assert hit == pytest.approx(float(expected))
            read = [c for c, score in zip(classes, by_word, strict=True) if score is not None]
            assert hits_of(rows, "hybrid")["random"] == pytest.approx(np.mean(np.array(read) == predicted))


def agreeing(text, tags, subject, label, attractors=0):
    spans = ((subject, subject + 1, 0),)
    return instance(text, label=label, evidence=Evidence(spans=spans, tags=tags, attractors=attractors))


def test_agreement_counts_the_subject_and_words_of_the_predicted_number():
    made = agreeing("the films was the film", ("DT", "NNS", "VBZ", "DT", "NN"), 1, 1)
    tokens = tokenize(made, tiny_tokenizer(), 64)
    by_word = {"films": 1, "was": 2, "film": 4, "the": 0}
    for predicted, feature in ((1, {"films"}), (0, {"was", "film"})):
        for word, at in by_word.items():
            scores = np.zeros(len(tokens.content))
            scores[np.flatnonzero(tokens.word[tokens.content] == at)[0]] = 1
            rows = pointing.play(made, tokens, predicted, {"m": attribute(tokens, scores)})
            assert hits_of(rows, "hit_target")["m"] == (word == "films")
            assert hits_of(rows, "hit_feat")["m"] == (word in feature)
            assert {row["correct"] for row in rows} == {predicted == 1}
            assert hits_of(rows, "hit_feat")["last"] == (predicted == 0)
            assert hits_of(rows, "hit_target")["random"] == pytest.approx(1 / 5)
            assert hits_of(rows, "hit_feat")["random"] == pytest.approx(len(feature) / 5)


@given(tags=st.lists(st.sampled_from(["NN", "NNS", "VBZ", "VBP", "DT", "PRP"]), min_size=1, max_size=6))
def test_features_are_those_of_the_paper(tags):
    made = agreeing(" ".join("a" for _ in tags), tuple(tags), 0, 0)
    for predicted in (0, 1):
        games = {game.metric: game for game in pointing.find_games(made, predicted, np.ones(len(tags), bool))}
        assert games["hit_feat"].evidence.tolist() == [slow.feature(tag) == predicted for tag in tags]
        assert games["hit_target"].evidence.tolist() == [at == 0 for at in range(len(tags))]


def test_manual_lists_go_by_the_chosen_rule_and_discard_wrong_predictions():
    marks = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    made = instance("good bad slow", label=1, evidence=Evidence(marks=marks))
    tokens = tokenize(made, tiny_tokenizer(), 64)
    for affix, hits in {"code": (1, 0, 0), "paper": (0, 1, 0), "both": (1, 1, 0)}.items():
        for at, hit in enumerate(hits):
            rows = pointing.play(made, tokens, 1, {"m": attribute(tokens, np.eye(3)[at])}, affix=affix)
            assert hits_of(rows, "manual")["m"] == hit
    rows = pointing.play(made, tokens, 0, {"m": attribute(tokens, np.eye(3)[0])})
    assert {row["discarded"] for row in rows} == {"the prediction is wrong"}
    with pytest.raises(ValueError, match=r"unknown rule 'codes'.*code, paper, both"):
        pointing.play(made, tokens, 1, {}, affix="codes")
    with pytest.raises(ValueError, match="says nothing of where its evidence lies"):
        pointing.play(replace(made, evidence=Evidence()), tokens, 1, {})


def test_drawn_words_hit_as_often_as_random_says_and_do_not_depend_on_other_methods():
    made = agreeing("a the film was slow", ("DT", "DT", "NN", "VBD", "JJ"), 2, 0)
    tokens = tokenize(made, tiny_tokenizer(), 64)
    drawn = [
        hits_of(pointing.play(made, tokens, 0, {}, names=(at,)), "hit_target")["random_drawn"] for at in range(600)
    ]
    assert abs(np.mean(drawn) - 0.2) < 0.06
    more = {"m": attribute(tokens, np.arange(5)), "random": attribute(tokens, np.arange(5))}
    again = [hits_of(pointing.play(made, tokens, 0, more, names=(at,)), "hit_target") for at in range(20)]
    assert [row["random_drawn"] for row in again] == drawn[:20]
    assert all(row["random"] == pytest.approx(0.2) for row in again), "a drawn attribution is not the exact random"


# Many instances


def planted_hits(seeds=(1, 2), count=24):
    """Hits on a planted model: its gradient-like oracle, the oracle reversed, and noise, over hybrid documents."""
    model, rng, rows = Planted(), np.random.default_rng(5), []
    for seed in seeds:
        for number in range(count):
            words = [*rng.choice(["film", "slow", "the", "good"], 9), SIGNAL]
            order = rng.permutation(10)
            text = " ".join(words[at] for at in order)
            classes = tuple(int(at == 9) for at in order)
            made = instance(text, name=f"d{number}", label=1, evidence=Evidence(classes=classes))
            tokens = model.tokens(made)
            oracle = np.array([float(tokens.texts[t] == SIGNAL) for t in tokens.content])
            found = {"oracle": oracle, "reversed": -oracle, "noise": rng.standard_normal(10)}
            found = {name: attribute(tokens, scores, name) for name, scores in found.items()}
            for row in pointing.play(made, tokens, 1, found, names=(seed,)):
                rows.append(row | {"task": "hybrid_imdb", "model": "lstm", "seed": seed})
    return pd.DataFrame(rows)


def test_on_a_planted_model_the_oracle_hits_random_hits_by_chance_and_the_reverse_never():
    table = pointing.summarise(planted_hits(), 200, 0.95).set_index("method")
    assert table.accuracy["oracle"] == 1 and table.accuracy["reversed"] == 0
    assert table.accuracy["random"] == pytest.approx(0.1)
    assert table.low["noise"] <= 0.1 <= table.high["noise"] < table.low["oracle"]
    assert set(table.instances) == {24} and set(table.discarded) == {0.0}


def test_discards_are_counted_and_conditions_are_kept_apart():
    base = {"task": "agreement_parsed", "model": "gru", "metric": "hit_feat", "method": "m", "discarded": ""}
    rows = [base | {"seed": 1, "instance": f"{at}", "correct": at < 6, "hit": float(at < 3)} for at in range(8)]
    rows += [row | {"seed": 2, "hit": 1.0} for row in rows]
    table = pointing.summarise(pd.DataFrame(rows), 100, 0.9).set_index("condition")
    assert table.accuracy["correct"] == pytest.approx((3 * 1 + 3 * 0.5) / 6)
    assert table.accuracy["wrong"] == pytest.approx(0.5)
    assert table.instances.to_dict() == {"all": 8, "correct": 6, "wrong": 2}
    assert table.right["all"] == pytest.approx(6 / 8)
    hybrid = [r | {"metric": "hybrid", "task": "hybrid_bbc"} for r in rows]
    hybrid += [base | {"metric": "hybrid", "task": "hybrid_bbc", "seed": 1, "instance": "gone", "correct": False}]
    hybrid[-1] |= {"hit": np.nan, "discarded": "the predicted class is that of no word"}
    (row,) = pointing.summarise(pd.DataFrame(hybrid), 100, 0.9).to_dict("records")
    assert (row["condition"], row["instances"], row["discarded"]) == ("all", 8, pytest.approx(1 / 17))


def test_adding_a_method_moves_no_other_interval():
    hits = planted_hits(seeds=(1,))
    whole = pointing.summarise(hits, 100, 0.9).set_index("method")
    less = pointing.summarise(hits[hits.method != "oracle"], 100, 0.9).set_index("method")
    pd.testing.assert_frame_equal(whole.loc[less.index], less)


def test_attractors_are_counted_together_from_four_on():
    base = {"task": "agreement_parsed", "model": "gru", "metric": "hit_target", "method": "m", "discarded": ""}
    base |= {"seed": 1, "correct": True}
    rows = [base | {"instance": f"{at}", "attractors": at, "hit": float(at == 0)} for at in (6, 0, 4, 1)]
    table = pointing.summarise_by_attractors(pd.DataFrame(rows), 50, 0.9)
    table = table[table.condition == "correct"]
    assert table.attractors.tolist() == [0, 1, 4]
    assert table.instances.tolist() == [1, 1, 2] and table.accuracy.tolist() == [1, 0, 0]


# The published table


def summary_of(cells):
    """A summary with one row a (task, model, metric, condition, method, accuracy)."""
    columns = ["task", "model", "metric", "condition", "method", "accuracy"]
    table = pd.DataFrame(cells, columns=columns)
    return table.assign(low=table.accuracy - 0.1, high=table.accuracy + 0.1, instances=10, right=0.9, discarded=0.0)


def test_the_published_cells_are_read_with_their_columns():
    cells = pointing_table.read_published(PUBLISHED).set_index(["method", "column"])
    assert len(cells) == 22 * 27
    one = cells.loc["grad_1p_dot", "C05"]
    assert (one.published, one.confidence, one.architecture, one.metric, one.condition) == (
        0.95,
        "H",
        "CNN",
        "hybrid",
        "all",
    )
    assert cells.loc["last", "C20"][["metric", "condition"]].tolist() == ["hit_feat", "correct"]
    assert cells.loc["last", "C24"][["metric", "condition"]].tolist() == ["hit_feat", "wrong"]
    assert cells.loc["random", "C16"][["metric", "condition"]].tolist() == ["hit_target", "correct"]
    assert set(cells.confidence) == {"H", "M", "L", ""}
    assert (cells.published.notna() == (cells.confidence != "")).all()
    assert set(cells.experiment) == set(pointing_table.TASKS_OF)


def test_our_cells_stand_beside_the_published_and_gaps_say_why():
    cells = [("hybrid_imdb", m, "hybrid", "all", "ours_1p", v) for m, v in (("lstm", 0.8), ("minilm", 0.7))]
    cells += [("hybrid_imdb", "lstm", "hybrid", "all", name, v) for name, v in (("lrp", 0.76), ("random", 0.99))]
    cells += [("agreement_parsed", "gru", "hit_feat", "all", "lrp", 0.5)]
    impossible = {("lrp", "MINILM"): "no rule for attention"}
    table = pointing_table.paper_table(
        summary_of(cells), pointing_table.NAMES | {"grad_1p_dot": "ours_1p"}, impossible, PUBLISHED
    )
    at = table.set_index(["method", "architecture", "experiment", "metric", "condition"]).sort_index()
    (one,) = at.loc["grad_1p_dot", "LSTM", "yelp hybrid"].to_dict("records")
    assert (one["ours"], one["published"], one["column"], one["task"]) == (0.8, 0.84, "C03", "hybrid_imdb")
    assert one["best"] and one["near"] and one["reason"] == ""
    (lrp,) = at.loc["lrp", "LSTM", "yelp hybrid"].to_dict("records")
    assert lrp["near"] and not lrp["best"]
    (random,) = at.loc["random", "LSTM", "yelp hybrid"].to_dict("records")
    assert not random["best"] and not random["near"], "a baseline competes with nobody"
    (new,) = at.loc["grad_1p_dot", "MINILM", "yelp hybrid"].to_dict("records")
    assert new["column"] == "" and np.isnan(new["published"]) and new["ours"] == 0.7

    def reason(*key):
        found = at.loc[key].reason
        return found if isinstance(found, str) else found.iloc[0]

    assert reason("lrp", "MINILM", "yelp hybrid") == "not applicable: no rule for attention"
    assert reason("decomp", "MINILM", "yelp hybrid") == "not applicable: it has no rule for transformer models"
    assert reason("decomp", "CNN", "yelp hybrid").startswith("not applicable: a convolution")
    assert reason("last", "GRU", "yelp hybrid").startswith("not applicable: only agreement")
    assert reason("lrp", "GRU", "20newsgroups manual") == "not run: no task of this experiment in this profile"
    assert reason("lrp", "GRU", "yelp hybrid") == "not run: this architecture is not in this profile for this task"
    assert reason("decomp", "LSTM", "yelp hybrid") == "not run: this method is not in this profile"
    agreement = ("lrp", "GRU", "morphosyntactic agreement", "hit_feat")
    assert reason(*agreement, "wrong") == "no instance: the model made no wrong prediction"
    assert (table.ours.notna() == (table.reason == "")).all()
    assert table[table.column != ""].groupby("column").size().eq(22).all()
    block = pointing_table.lay_out(table, "yelp hybrid", "hybrid_imdb", "hybrid").set_index("method")
    assert list(block) == ["LSTM", "MINILM"], "only architectures of ours"
    title = METHODS["gradient_simple_probability_dot"].title
    assert block.loc[title, "LSTM"] == "0.80* (0.84)" and block.loc[title, "MINILM"] == "0.70*"
    unsure = published_at(table, "lrp", "LSTM", "yelp hybrid")
    assert block.loc["LRP", "LSTM"] == f"0.76 ({unsure:.2f}?)"
    assert block.loc["Cell decomposition", "LSTM"] == "" and block.loc["Random", "LSTM"].startswith("0.99 (")


def published_at(table, method, architecture, experiment):
    """One published value."""
    found = table[(table.method == method) & (table.architecture == architecture) & (table.experiment == experiment)]
    return found.published.iloc[0]


def test_a_summary_may_say_what_the_paper_calls_a_model():
    cells = [("agreement_parsed", "uni_gru", "hit_target", "correct", "lrp", 0.5)]
    table = pointing_table.paper_table(summary_of(cells).assign(architecture="GRU"), folder=PUBLISHED)
    found = table[table.ours.notna()]
    assert found.column.tolist() == ["C16"] and found.architecture.tolist() == ["GRU"]


def test_the_figure_shows_each_value_of_ours_and_the_sure_published_ones():
    cells = [
        ("hybrid_imdb", "gru", "hybrid", "all", "lrp", 0.8),
        ("agreement_parsed", "gru", "hit_feat", "correct", "lrp", 0.6),
    ]
    cells += [("hybrid_imdb", "gru", "hybrid", "all", "limsse_class", 0.7)]
    table = pointing_table.paper_table(summary_of(cells), folder=PUBLISHED)
    figure = figures.draw_pointing(table).get_figure()
    panels = [axes for axes in figure.axes if axes.get_visible() and axes.lines]
    titles = ["IMDB, hybrid", "Agreement, parsed, right predictions"]
    assert [axes.get_title() for axes in panels] == titles
    ours, published = panels[0].lines
    assert sorted(x for x in ours.get_xdata() if np.isfinite(x)) == [0.7, 0.8]
    shown = [x for x in published.get_xdata() if np.isfinite(x)]
    sure = table[(table.column == "C01") & table.confidence.isin(["H", "M"])]
    assert shown == sure.sort_values("row").published.tolist() and len(shown) < 20
    plt.close(figure)
    with pytest.raises(ValueError, match="nothing to draw"):
        figures.draw_pointing(table.assign(ours=np.nan))


def test_attractor_curves_have_a_line_a_method_and_the_models_own():
    base = {
        "task": "agreement_parsed",
        "model": "gru",
        "metric": "hit_target",
        "discarded": "",
        "seed": 1,
        "correct": True,
    }
    rows = [
        base | {"instance": f"{at}-{number}", "attractors": at, "hit": float(at == 0), "method": method}
        for at, numbers in ((0, 6), (1, 5), (2, 4))
        for number in range(numbers)
        for method in ("some_way", "some_other")
    ]
    rows = [row | {"architecture": "GRU"} for row in rows]
    summary, shown = pointing.summarise_by_attractors(pd.DataFrame(rows), 50, 0.9), ("some_way", "some_other")
    axes = figures.draw_attractors(summary, shown=shown)
    assert [line.get_label() for line in axes.lines] == ["some way", "some other", "model's predictions"]
    assert axes.get_title() == "GRU"
    assert [list(line.get_xdata()) for line in axes.lines] == [[0, 1]] * 3, "two attractors have too few texts"
    plt.close(axes.get_figure())
    axes = figures.draw_attractors(summary, "hybrid", shown=shown)
    assert axes.texts[0].get_text() == "no agreement sentences in this run" and not axes.lines
    plt.close(axes.get_figure())


# Coloured text

TEXT = ["the", "<keys>", "to", "$5", "الباب"]
SCORES = {"lrp & co": [0.0, 2.0, -1.0, 0.5, 0.0], "flat": [0.0] * 5}
MARKED = [False, True, False, False, False]


def test_coloured_text_says_by_shape_what_it_says_by_colour():
    from bs4 import BeautifulSoup

    page = BeautifulSoup(coloured_text.colour_text(TEXT, SCORES, MARKED, "are").data, "html.parser")
    first, flat = page.find_all("tr")
    assert first.th.text == "lrp & co"
    words = first.td.find_all("span")
    assert [word.text for word in words] == [*TEXT, "[are]"]
    assert [bool(word.find("u")) for word in words] == [*MARKED, False]
    assert [bool(word.find("strong")) for word in words] == [False, True, False, False, False, False]
    assert "0, 140, 70" in words[1]["style"] and "200, 30, 30" in words[2]["style"]
    assert not words[0].get("style") and words[2]["title"] == "-1"
    assert not any("background" in word.get("style", "") for word in flat.td.find_all("span"))


@given(scores=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6))
def test_colours_are_the_papers_scale(scores):
    scaled = coloured_text.scale(scores)
    assert np.abs(scaled).max() <= 1 / 1.1 + 1e-9
    assert (np.sign(scaled) == np.sign(scores)).all() or np.abs(scores).min() < 1e-10 * np.abs(scores).max()


def test_the_picture_holds_every_word_inside_its_width_and_breaks_lines():
    words, scores = TEXT[:4] * 12, SCORES["lrp & co"][:4] * 12
    marked = [at == 1 for at in range(48)]
    axes = coloured_text.draw_text(words, {"lrp": scores, "flat": [0.0] * 48}, marked, "are", width=5)
    boxes = list(axes.patches)
    assert len(axes.texts) == 2 * (1 + 48 + 1) + 1 and len(boxes) == 36
    assert len(axes.lines) == 2  # one underlined word a method
    render = axes.get_figure().canvas.get_renderer()
    extents = [text.get_window_extent(render).transformed(axes.transData.inverted()) for text in axes.texts]
    assert max(e.x1 for e in extents) <= 5 * 72 and min(e.y0 for e in extents) >= axes.get_ylim()[0]
    lines = {}
    for extent, text in zip(extents, axes.texts, strict=True):
        lines.setdefault(round(text.get_position()[1], 3), []).append(extent)
    for inside in lines.values():
        assert all(a.x1 <= b.x0 for a, b in pairwise(inside)), "words overlap"
    assert len({round(b.get_y(), 3) for b in boxes}) > 1
    assert len({text.get_position()[1] for text in axes.texts if text.get_fontweight() == "bold"}) >= 2
    plt.close(axes.get_figure())


@pytest.mark.parametrize("draw", [coloured_text.colour_text, coloured_text.draw_text])
def test_colour_needs_one_finite_score_a_word(draw):
    with pytest.raises(ValueError, match="'m' has 1 scores for 5 words"):
        draw(TEXT, {"m": [1.0]}, MARKED)
    with pytest.raises(ValueError, match="finite"):
        draw(TEXT[:1], {"m": [np.nan]}, MARKED[:1])


def test_the_tasks_and_methods_of_the_table_exist():
    rows = set(pointing_table.read_published(PUBLISHED).method)
    assert set(pointing_table.NAMES) | set(pointing_table.BASELINES) == rows
    assert set(pointing_table.NAMES.values()) <= set(METHODS)
    for names in pointing_table.TASKS_OF.values():
        for name in names:
            assert isinstance(corpora.TASKS[name], tasks.Task)
