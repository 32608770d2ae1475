"""Partition SHAP against a walk over the whole tree, its tree of two texts, and both against shap
on strings.
"""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import erasures, models, owen, words

from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.methods import partition_shap as partition
from attreval.methods.method import Budget
from attreval.methods.partition_shap import converse_by_calls
from attreval.models.questions import Evaluate, softmax
from attreval.models.scorer import Scorer

WORDS = ["good", "film", "the", ",", ".", "!", "and", "unbelievable", "able", "z", "-", "😀"]
sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
text = st.one_of(st.tuples(sentence), st.tuples(sentence, sentence))
NAME = "partition_shap"
shap = partition.load_shap()  # uncompiled
ENOUGH = 5000


def talk(model, tokens, target, evaluations, first=0, scorer=None):
    """The Scores of Partition SHAP on several texts that share batches, drawn by their numbers from
    the first on.
    """
    budget = Budget(shap_evaluations=evaluations)
    talks = (
        METHODS[NAME].converse(t, target, budget, generator("x", i))
        for i, t in enumerate(tokens, first)
    )
    return (scorer or Scorer(model, precision="float64")).converse((NAME, one) for one in talks)


def merges_of(tokens):
    """Our tree as (left, right) pairs."""
    if len(tokens.content) == 1:
        return []
    return [(int(a), int(b)) for a, b, *_ in partition.phrase_tree(tokens)]


@settings(max_examples=6)
@given(texts=st.lists(text, min_size=1, max_size=2), target=st.integers(0, 2))
def test_values_equal_a_walk_over_the_whole_tree(tiny, texts, target):
    tokens = [tiny.tokens(models.instance(*t)) for t in texts]
    network = tiny.at("float64")
    for t, scores in zip(tokens, talk(tiny, tokens, target, ENOUGH), strict=True):

        def value(kept, t=t):
            ids = t.ids.copy()
            ids[[c for i, c in enumerate(t.content) if i not in kept]] = t.mask_id
            z = np.exp(erasures.logits(network, ids, t.segments))
            return z[target] / z.sum()

        expected = owen.owen_values(value, merges_of(t), len(t.content))
        assert_allclose(scores.values, expected, atol=1e-9)
        assert abs(scores.gap) < 1e-9


@given(texts=st.tuples(sentence, sentence))
def test_the_two_texts_of_a_pair_meet_last(tiny, texts):
    tokens = tiny.tokens(models.instance(*texts))
    tree = partition.phrase_tree(tokens)
    n = len(tokens.content)
    assert tree.shape == (n - 1, 4) and tree[-1, 3] == n and tree[-1, 2] == 1
    members = [{i} for i in range(n)]
    for left, right, height, size in tree:
        members.append(members[int(left)] | members[int(right)])
        assert size == len(members[-1]) == max(members[-1]) - min(members[-1]) + 1  # neighbours
        assert height == size / n
    first = {i for i, c in enumerate(tokens.content) if tokens.offsets[c, 0] == 0}
    parts = [members[int(part)] for part in tree[-1, :2]]
    assert first in parts and set(range(n)) - first in parts


def test_pieces_of_a_word_meet_first(tiny):
    tokens = tiny.tokens(models.instance("a unbelievable film ."))
    read = ["a", "un", "##believ", "##able", "film", "."]
    assert [tokens.texts[c] for c in tokens.content] == read
    assert merges_of(tokens)[:2] == [(1, 2), (6, 3)]
    assert partition.name_leaves(tokens)[0] == ["", *read, ""]


class Strings:
    """The tiny model as shap's Text masker wants it: strings in, tokenised anew."""

    def __init__(self, model):
        self.model = model

    def __call__(self, texts):
        network = self.model.at("float64")
        rows = [np.array(self.model.tokenizer(one)["input_ids"]) for one in texts]
        z = np.exp([erasures.logits(network, ids, np.zeros_like(ids)) for ids in rows])
        return z / z.sum(axis=1, keepdims=True)


def test_shap_on_strings_says_the_same(tiny):
    """Special tokens are leaves there: they take no credit when every phrase is taken apart. Whole
    words only, since a piece beside a mask comes back from the string as another piece.
    """
    one = "bad film , good plot !"
    explainer = shap.explainers.PartitionExplainer(Strings(tiny), shap.maskers.Text(tiny.tokenizer))
    theirs = explainer([one], max_evals=ENOUGH, silent=True).values[0]
    tokens = tiny.tokens(models.instance(one))
    for target in range(3):
        (ours,) = talk(tiny, [tokens], target, ENOUGH)
        assert_allclose(ours.values, theirs[1:-1, target], atol=1e-9)


LONG = "the film was not very good , the plot was slow and the brave film is bad ! a good plot ."


def test_what_is_not_taken_apart_is_shared_and_nothing_is_lost(tiny):
    tokens = tiny.tokens(models.instance(LONG))
    for evaluations in (4, 30):
        scorer = Scorer(tiny, precision="float64")
        (scores,) = talk(tiny, [tokens], 1, evaluations, scorer=scorer)
        assert abs(scores.gap) < 1e-12
        assert len(set(scores.values.round(12))) < len(scores.values)
        assert scorer.costs[NAME].requested <= evaluations + 1


def test_neither_company_nor_the_global_generator_moves_a_value(tiny):
    """Ties of shap's queue are broken by NumPy's global generator: each conversation draws from its
    own.
    """
    texts = [LONG, "good " * 8, "the plot the plot the plot the plot ."]
    tokens = [tiny.tokens(models.instance(t)) for t in texts]
    together = talk(tiny, tokens, 0, 20)
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for i, t in enumerate(tokens):
        (alone,) = talk(tiny, [t], 0, 20, first=i)
        assert_allclose(alone.values, together[i].values, atol=1e-12)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_an_error_inside_the_library_is_raised_and_leaves_no_thread(tiny):
    def work(ask):
        ask(Evaluate(np.array([[1, 2]]), np.zeros(2, np.int64)))
        raise KeyError("inside")

    before = threading.active_count()  # tqdm and others keep theirs
    with pytest.raises(KeyError, match="inside"):
        Scorer(tiny).converse([("x", converse_by_calls(work, generator("calls")))])
    assert threading.active_count() == before


def test_a_conversation_that_is_dropped_leaves_no_thread():
    said = []

    def work(ask):
        try:
            ask("first")
        finally:
            said.append("ended")

    before = threading.active_count()
    talk = converse_by_calls(work, generator("calls"))
    assert next(talk) == "first" and threading.active_count() == before + 1
    talk.close()
    assert said == ["ended"] and threading.active_count() == before


def test_word_level_models_are_explained_too():
    """No special tokens, no pieces, no separator: it is put in."""
    for kind in words.KINDS[::3]:
        model = words.tiny_words(*kind)
        tokens = model.tokens(models.instance("the film was good", "not bad"))
        leaves = ["the", "film", "was", "good", "[SEP]", "not", "bad"]
        assert partition.name_leaves(tokens)[0] == leaves
        (scores,) = talk(model, [tokens], 0, ENOUGH)
        ends = [(tokens.ids, tokens.segments), (tokens.ids * 0, tokens.segments)]
        whole, none = softmax(Scorer(model, precision="float64").logits(ends))[:, 0]
        assert_allclose(scores.values.sum(), whole - none, atol=1e-12, err_msg=kind)
