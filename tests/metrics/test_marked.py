"""Scores against marks, forms of scores, votes and habits: slow twins, ties, constants, one token,
NaN.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import markings as slow
from reference import models
from sklearn.metrics import auc, f1_score, precision_recall_curve

from attreval.core.records import Evidence
from attreval.metrics import METRICS
from attreval.metrics.marked import DRAWS
from attreval.metrics.scored_text import ScoredText, Settings, without_asking
from attreval.metrics.scores_alone import PLACES, kinds_of

few = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
OF_MARKS = ("token_f1", "auprc", "iou_f1", "relevance_mass", "relevance_rank")
WORDS = ("good", "bad", "film", "slow", "plot")


def of_words(tiny, words, scores, marks=None, k=2, **fields):
    """A text of whole words with scores by method, and what one person marked."""
    evidence = Evidence() if marks is None else Evidence(marks=np.array([marks], float))
    instance = models.instance(" ".join(words), evidence=evidence)
    held = {name: np.array(one, float) for name, one in scores.items()}
    return ScoredText(instance, tiny.tokens(instance), held, settings=Settings(k=k), **fields)


def value(text, name, method="m"):
    return without_asking(METRICS[name].ask(text, method))


@st.composite
def marked(draw, longest=5):
    n = draw(st.integers(1, longest))
    marks = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    return draw(st.lists(few, min_size=n, max_size=n)), marks, draw(st.integers(1, 4))


@given(case=marked())
def test_metrics_of_marks_equal_their_twins(tiny, case):
    scores, marks, k = case
    text = of_words(tiny, ["good"] * len(scores), {"m": scores}, marks, k)
    orders = slow.orders(scores)
    assert value(text, "token_f1") == pytest.approx(np.mean([slow.f1(o, marks, k) for o in orders]))
    ranks = [sum(marks[i] for i in o[: sum(marks)]) / sum(marks) for o in orders]
    assert value(text, "relevance_rank") == pytest.approx(np.mean(ranks))
    assert value(text, "relevance_mass") == pytest.approx(slow.mass(scores, marks))
    for name, each in {
        "auprc": [slow.precision_recall_area(o, marks) for o in orders],
        "iou_f1": [slow.iou_f1(o, marks, k) for o in orders],
    }.items():  # the mean of DRAWS of the orders
        error = np.std(each) / np.sqrt(DRAWS) if len(set(scores)) < len(scores) else 0
        assert abs(value(text, name) - np.mean(each)) <= 5 * error + 1e-9, name


def test_nothing_is_said_where_nobody_marked_and_nan_is_refused(tiny):
    for name in OF_MARKS:
        assert np.isnan(value(of_words(tiny, WORDS, {"m": np.arange(5)}, [0] * 5), name))
        assert value(of_words(tiny, ["good"], {"m": [-2.0]}, [1]), name) == 1.0
        with pytest.raises(ValueError, match=r"finite|numbers"):
            value(of_words(tiny, WORDS, {"m": [np.nan, 1, 2, 3, 4]}, [1] * 5), name)


@given(scores=st.lists(few, min_size=1, max_size=7))
def test_sparseness_equals_its_twin(tiny, scores):
    text = of_words(tiny, ["good"] * len(scores), {"m": scores})
    assert value(text, "sparseness") == pytest.approx(slow.gini(scores), abs=1e-12)
    assert 0 <= value(text, "sparseness") <= (len(scores) - 1) / len(scores) + 1e-12


@given(votes=arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=few))
def test_the_vote_equals_its_twin(tiny, votes):
    n = votes.shape[1]
    held = {f"m{at}": scores for at, scores in enumerate(votes)} | {"random": np.arange(n)}
    text = of_words(tiny, ["good"] * n, held)
    ranks = np.array([slow.ranks(own.tolist()) for own in votes])
    for at, own in enumerate(votes):
        others = np.delete(ranks, at, axis=0)
        mean = others.mean(axis=0) if len(others) else np.zeros(n)
        found = value(text, "vote", f"m{at}")
        if np.ptp(mean) == 0:
            assert np.isnan(found)
        else:
            assert found == pytest.approx(slow.spearman(own.tolist(), mean.tolist()), abs=1e-9)


@st.composite
def corpora(draw):
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
    texts = draw(st.lists(words, min_size=1, max_size=4))
    return texts, [draw(st.lists(few, min_size=len(t), max_size=len(t))) for t in texts]


@given(corpus=corpora())
def test_habits_equal_their_twins(tiny, corpus):
    texts, profiles = corpus
    asked: list = []
    for text, profile in zip(texts, profiles, strict=True):
        asked.append(of_words(tiny, text, {"m": profile}, texts=asked))
    places = [[PLACES * i // len(t) for i in range(len(t))] for t in texts]
    assert np.isnan(value(replace(asked[0], texts=(), found={}), "lexical_bias"))
    for at, text in enumerate(asked):
        for name, kinds in (("lexical_bias", texts), ("position_bias", places)):
            wanted = [round(v, 9) for v in slow.expected_ranks(profiles, kinds, at)]
            found = value(text, name)
            if len(set(wanted)) == 1:
                assert np.isnan(found)
            else:
                assert found == pytest.approx(slow.spearman(profiles[at], wanted), abs=1e-9)


def test_scikit_learn_is_a_witness(tiny):
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = rng.standard_normal(9)
        marks = rng.random(9) < 0.4
        marks[0] = True
        text = of_words(tiny, ["good"] * 9, {"m": scores}, marks, k=3)
        top = np.isin(np.arange(9), np.argsort(-scores)[:3])
        assert value(text, "token_f1") == pytest.approx(f1_score(marks, top))
        precision, recall, _ = precision_recall_curve(marks, scores)
        assert value(text, "auprc") == pytest.approx(auc(recall, precision))


def test_constants_get_what_random_scores_get(tiny):
    marks = [0, 1, 1, 0, 0, 1]
    rng = np.random.default_rng(1)

    def values(scores, at=0):
        text = of_words(tiny, ["good"] * 6, {"m": scores}, marks, names=(at,))
        return [value(text, name) for name in OF_MARKS]

    drawn = np.array([values(rng.standard_normal(6)) for _ in range(400)])
    for level in (-1.0, 0.0, 3.0):
        constant = np.array([values([level] * 6, at) for at in range(40)])
        spread = drawn.std(axis=0) / np.sqrt(400) + constant.std(axis=0) / np.sqrt(40)
        apart = np.abs(constant.mean(axis=0) - drawn.mean(axis=0))
        assert (apart < 4 * spread + 1e-9).all(), level


def test_a_habit_is_seen_and_random_scores_have_none(tiny):
    """One method likes a word, another a place, whatever the text; chance likes neither."""
    rng = np.random.default_rng(3)
    asked = []
    for _ in range(120):
        words = rng.permutation(WORDS).tolist()
        likes = [word == "film" for word in words]
        held = {"word": likes, "place": [1, 0, 0, 0, 0], "random": rng.random(5)}
        asked.append(of_words(tiny, words, held))
    asked = [replace(text, texts=asked) for text in asked]
    asked = [replace(text, texts=asked, found={}) for text in asked]
    cells = [*product(("lexical_bias", "position_bias"), ("word", "place", "random"))]
    means = {cell: np.mean([value(text, *cell) for text in asked]) for cell in cells}
    assert means["lexical_bias", "word"] > 0.6 and means["position_bias", "place"] > 0.6
    likings = {("lexical_bias", "word"), ("position_bias", "place")}
    assert all(abs(mean) < 0.2 for cell, mean in means.items() if cell not in likings)
    assert kinds_of(asked[0], of_words=False).tolist() == [0, 2, 4, 6, 8]
    assert np.isnan(value(replace(asked[0], texts=(), found={}), "lexical_bias", "word"))
