"""The ledger: what is counted, shared, kept apart, batched, and what an exception leaves."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import models, words

from attreval.core.records import Cost
from attreval.methods import METHODS, methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain
from attreval.models.questions import DEEPLIFT, Evaluate, PathGradient
from attreval.models.scorer import Scorer, cut_batches, pad_rows


class Fake:
    """Logits are the sum and the number of a row's unmasked ids (and 1 at bfloat16); batches are recorded."""

    labels = ("sum", "count", "rounded")
    family = "transformer"
    device = torch.device("cpu")
    pad_id = 9

    def __init__(self, fail_at: int | None = None):
        self.batches, self.fail_at = [], fail_at

    def logits(self, ids, mask, segments, precision="float32", embeddings=None):
        if len(self.batches) == self.fail_at:
            self.fail_at = None
            raise RuntimeError("out of memory")
        self.batches.append((tuple(mask.shape), precision))
        total = (ids * mask).sum(dim=1) + 100 * (segments * mask).sum(dim=1)
        return torch.stack([total, mask.sum(dim=1), torch.full_like(total, precision == "bfloat16")], dim=1).float()


def row(*ids, side=0):
    return np.array(ids), np.full(len(ids), side)


def ask(*rows, sampled=False):
    """A conversation that asks once and returns the answer."""
    return (yield Evaluate(np.array(rows), np.zeros(len(rows[0]), np.int64), sampled))


def test_answers_come_back_in_the_order_asked():
    rows = [row(1), row(1, 2, 3), row(5, 5), row(1), row(2, 2, 2, 2)]
    found = Scorer(Fake(), token_budget=5).logits(rows)
    assert found.dtype == np.float64
    assert found.tolist() == [[1, 1, 0], [6, 3, 0], [10, 2, 0], [1, 1, 0], [8, 4, 0]]


def test_costs_are_counted_by_hand():
    scorer = Scorer(Fake())
    scorer.logits([row(1, 2, 3), row(4, 5), row(1, 2, 3)], account="first")
    assert scorer.costs["first"] == Cost(requested=3, unique=2, requested_tokens=8, unique_tokens=5)
    assert scorer.costs["first"].reused == 1
    scorer.logits([row(4, 5), row(7)], account="second")
    assert scorer.costs["second"] == Cost(requested=2, unique=1, requested_tokens=3, unique_tokens=1)
    scorer.logits([row(7)], account="second")
    assert scorer.costs["second"] == Cost(requested=3, unique=1, requested_tokens=4, unique_tokens=1)
    assert Cost(1, 2, 3, 4, 5) + Cost(10, 20, 30, 40, 50) == Cost(11, 22, 33, 44, 55)


def test_rows_that_differ_in_segments_only_are_different():
    model = Fake()
    found = Scorer(model).logits([row(1, 2), row(1, 2, side=1)])
    assert found[:, 0].tolist() == [3, 203]


def test_empty_requests():
    scorer = Scorer(Fake())
    assert scorer.logits([]).shape == (0, 3)
    nothing, one = Evaluate([], []), Evaluate([np.array([1])], [np.array([0])])
    assert [a.shape for a in scorer.answer([nothing, one], ["a", "b"])] == [(0, 3), (1, 3)]
    assert scorer.answer([], []) == [] and scorer.converse([]) == []
    assert scorer.costs["a"] == Cost()


def test_conversations_share_answers_and_batches():
    model = Fake()
    scorer = Scorer(model)
    a, b = scorer.converse([("a", ask((1, 2), (3, 4))), ("b", ask((3, 4), (5, 6)))])
    assert a.tolist() == [[3, 2, 0], [7, 2, 0]] and b.tolist() == [[7, 2, 0], [11, 2, 0]]
    assert model.batches == [((3, 2), "float32")]
    assert scorer.costs["a"].unique == 2 and scorer.costs["b"].unique == 1 and scorer.costs["b"].reused == 1


def test_conversations_of_any_length_run_side_by_side():
    def none():
        return "silent"
        yield

    def twice():
        first = yield Evaluate(np.array([[1]]), np.zeros(1, np.int64))
        second = yield Evaluate(np.array([[int(first[0, 0]) + 1]]), np.zeros(1, np.int64))
        return second[0, 0]

    assert Scorer(Fake()).converse([("x", none()), ("y", twice()), ("z", twice())]) == ["silent", 2, 2]


def test_precisions_are_kept_apart():
    model = Fake()
    scorer = Scorer(model, sampled_precision="bfloat16")
    found = scorer.converse([("x", ask((1, 2))), ("y", ask((1, 2), sampled=True)), ("z", ask((1, 2)))])
    assert [f[0, 2] for f in found] == [0, 1, 0]
    assert sorted(p for _, p in model.batches) == ["bfloat16", "float32"]
    assert [scorer.costs[n].unique for n in "xyz"] == [1, 1, 0]
    assert scorer.logits([row(1, 2)], "bfloat16")[0, 2] == 1 and len(model.batches) == 2


BUDGET = Budget(path_steps=4, path_steps_most=4, riemann_steps=4, limsse_epochs=5)


def test_only_sampled_methods_may_be_asked_in_the_faster_precision(tiny, texts):
    known, recorder = methods_for("transformer"), models.Recorder(tiny)
    scorer, sampled = Scorer(recorder, sampled_precision="bfloat16"), [m for m in known if METHODS[m].sampled]
    explain(scorer, texts[:2], [m for m in known if m not in sampled], BUDGET)
    assert {p for _, _, p in recorder.batches} == {"float32"}
    few = Budget(lime_samples=30, units=UnitSettings(shapley_samples=10))
    for name in sampled:
        scorer.forget()
        recorder.batches.clear()
        exact, fast = (explain(s, texts[:2], [name], few) for s in (Scorer(tiny), scorer))
        assert "bfloat16" in {p for _, _, p in recorder.batches}, name
        for a, b in zip(exact, fast, strict=True):
            assert 0 < np.abs(a.attributions[name].scores - b.attributions[name].scores).max() < 0.1, name


@pytest.mark.parametrize("budget", [1, 7, 20, 1000])
def test_batches_keep_to_the_token_budget(budget):
    model = Fake()
    rows = [row(*range(1, n + 1)) for n in (1, 9, 4, 4, 6, 2, 3, 8)] + [row(*([7] * n)) for n in (5, 5, 3, 1)]
    Scorer(model, budget).logits(rows)
    for (count, width), _ in model.batches:
        assert count * width <= budget or count == 1
    assert sum(count for (count, _), _ in model.batches) == 10  # two of the rows are there twice
    if budget == 1000:
        assert len(model.batches) == 2  # one would pad 33 tokens more, and a batch is worth 24


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=8),
    budget=st.integers(1, 200),
    batch=st.sampled_from([0, 5, 24, 1000]),
    step=st.sampled_from([0, 1, 6]),
)
def test_batches_are_the_cheapest_of_all_cuts(lengths, budget, batch, step):
    """The slow twin tries every way to cut the sorted rows."""
    lengths = sorted(lengths, reverse=True)

    def price(cuts):
        parts = list(itertools.pairwise([0, *cuts, len(lengths)]))
        sizes = [max(1, lengths[start]) for start, _ in parts]
        rows = [end - start for start, end in parts]
        if any(n > 1 and n * size > budget for n, size in zip(rows, sizes, strict=True)):
            return np.inf
        return sum(batch + size * (step + n) for n, size in zip(rows, sizes, strict=True))

    inner = range(1, len(lengths))
    cheapest = min(price(cuts) for count in range(len(lengths)) for cuts in itertools.combinations(inner, count))
    found = cut_batches(lengths, budget, batch, step)
    assert price([part.stop for part in found[:-1]]) == cheapest


def test_a_batch_ends_where_padding_costs_more_than_another_batch():
    assert cut_batches([40] * 8 + [20] * 8, 1024) == [range(8), range(8, 16)]
    assert cut_batches([40] * 8 + [39] * 8, 1024) == [range(16)]
    assert cut_batches([40, 20], 1024) == [range(2)]  # two batches of a row would cost more than what is padded
    assert cut_batches([240] * 2 + [200] * 8, 16384, batch=0, step=6) == [range(10)]


def test_a_gpu_is_given_the_fewest_batches():
    model = Fake()
    model.device = "meta"
    assert cut_batches([400] * 5 + [2] * 9, 2000, **Scorer(model, 2000).batch_costs) == [range(5), range(5, 14)]
    assert cut_batches([400] * 4 + [2], 2000, **Scorer(model, 2000).batch_costs) == [range(5)]


def test_padding_is_masked_and_at_the_end():
    ids, mask, segments = pad_rows([row(1, 2, 3, side=1), row(4)], 9)
    assert ids.tolist() == [[1, 2, 3], [4, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert segments.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_an_exception_leaves_only_right_answers():
    rows = [row(*range(1, n + 1)) for n in (5, 4, 3, 2)]
    model = Fake(fail_at=2)
    scorer = Scorer(model, token_budget=5)
    with pytest.raises(RuntimeError, match="out of memory"):
        scorer.logits(rows)
    assert len(scorer.answers) == 2
    again = scorer.logits(rows)
    assert again[:, 0].tolist() == [15, 10, 6, 3]
    assert len(model.batches) == 4  # what was answered is not asked again


def test_an_exception_in_a_method_is_not_swallowed():
    def broken():
        yield Evaluate(np.array([[1]]), np.zeros(1, np.int64))
        raise ArithmeticError("overflow")

    scorer = Scorer(Fake())
    with pytest.raises(ArithmeticError, match="overflow"):
        scorer.converse([("x", broken()), ("y", ask((1,)))])
    assert scorer.logits([row(1)])[0, 0] == 1


def test_forgetting_asks_again_and_keeps_the_counts():
    model = Fake()
    scorer = Scorer(model)
    scorer.logits([row(1)], account="x")
    scorer.forget()
    scorer.logits([row(1)], account="x")
    assert len(model.batches) == 2 and scorer.costs["x"] == Cost(2, 2, 2, 2)


def test_notify_hears_of_every_evaluation(tiny, texts):
    heard = []
    scorer = Scorer(tiny, token_budget=30, notify=heard.append)
    explain(scorer, texts[:3], ["occlusion_1", "integrated_gradients"], Budget(path_steps=3))
    scorer.forget()
    direct = Scorer(Fake(), token_budget=3, notify=heard.append)
    heard.clear()
    direct.logits([row(1, 2), row(3), row(3), row(4, 4)])
    assert sum(heard) == 3


def path(tokens, nodes=(0.25, 0.5), weights=(0.3, 0.7), **more):
    return PathGradient(tokens.ids, tokens.segments, 0, nodes, weights, **more)


def test_paths_are_counted_and_shared(tiny, texts):
    scorer = Scorer(tiny)
    tokens = tiny.tokens(texts[2])
    length = len(tokens)
    first, again, other = scorer.answer([path(tokens), path(tokens), path(tokens, (1.0,), (1.0,))], ["a", "b", "b"])
    assert first is again and other is not first
    assert scorer.costs["a"] == Cost(2, 2, 2 * length, 2 * length, gradients=2)
    assert scorer.costs["b"] == Cost(3, 1, 3 * length, length, gradients=3)


@pytest.mark.parametrize(
    "other",
    [
        {"ids": np.array([1, 2, 4])},
        {"segments": np.array([0, 0, 1])},
        {"target": 1},
        {"nodes": (0.2, 0.5)},
        {"weights": (0.5, 0.5)},
        {"baseline": np.array([0, 0, 0])},
        {"of": "probability"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_paths_that_differ_in_anything_are_different_questions(other):
    one = PathGradient(np.array([1, 2, 3]), np.zeros(3, np.int64), 0, (0.25, 0.5), (0.3, 0.7))
    assert replace(one).key() == one.key() != replace(one, **other).key()


def test_path_of_a_probability_is_the_chain_rule(tiny, texts):
    scorer = Scorer(tiny, precision="float64")
    tokens = tiny.tokens(texts[1])
    target = 1
    logits = scorer.logits([(tokens.ids, tokens.segments)])[0]
    p = np.exp(logits) / np.exp(logits).sum()
    asked = [PathGradient(tokens.ids, tokens.segments, k) for k in range(3)]
    asked.append(PathGradient(tokens.ids, tokens.segments, target, of="probability"))
    *by_logit, found = scorer.answer(asked, [""] * 4)
    expected = p[target] * sum(((k == target) - p[k]) * a.gradient for k, a in enumerate(by_logit))
    np.testing.assert_allclose(found.gradient, expected, atol=1e-10)


FORMS = [
    *(("transformer", form) for form in ({}, {"where": "entry"}, {"where": "bare"}, {"rule": DEEPLIFT})),
    *((kind, form) for kind in ("lstm", "gru", "qlstm", "cnn") for form in ({}, {"rule": DEEPLIFT})),
]


@pytest.mark.parametrize(("which", "form"), FORMS, ids=str)
def test_what_is_asked_of_one_point_is_read_once(which, form, tiny, texts):
    """Logit and probability, of any class, along one path: one forward pass a node, and the very same numbers."""
    model = tiny if which == "transformer" else words.tiny_words(which)
    asked = []
    for t in (model.tokens(one) for one in texts[1:3]):
        for more in ({}, {"of": "probability"}, {"target": 1}):
            one = PathGradient(t.ids, t.segments, 0, (0.25, 0.5, 1.0), (0.3, 0.6, 0.1), **form)
            asked.append(replace(one, **more))
    recorder = models.Recorder(model)
    together = Scorer(recorder).answer(asked, [""] * 6)
    if not ("rule" in form and which == "transformer"):  # captum reads it on its own
        assert sum(len(mask) for _, mask, _ in recorder.batches) == 2 * 3
    for kind in range(3):
        for question, there in zip(asked[kind::3], together[kind::3], strict=True):
            (alone,) = Scorer(model).answer([question], [""])
            np.testing.assert_allclose(there.gradient, alone.gradient, atol=1e-5 * np.abs(alone.gradient).max())
        for found, same in zip(Scorer(model).answer(asked[kind::3], [""] * 2), together[kind::3], strict=True):
            assert (found.gradient == same.gradient).all() and (found.difference == same.difference).all()
            assert np.array_equal(found.values, same.values, equal_nan=True)


def test_sampled_rows_do_not_spoil_gradients_in_the_same_precision(texts):
    """The copy of the network in a precision may be made by a question without gradients."""
    scorer = Scorer(models.tiny_model(), precision="float64")
    tokens = scorer.model.tokens(texts[0])
    scorer.logits([(tokens.ids, tokens.segments)])
    (found,) = scorer.answer([path(tokens)], [""])
    assert np.abs(found.gradient).max() > 0


def test_costs_of_methods_on_one_text(tiny):
    """n = 4 content tokens, L = 6: what sharing saves; tests/methods/test_method_facts.py has each method's formula."""
    one = models.instance("good bad slow film", name="x")
    scorer = Scorer(tiny)
    budget = Budget(path_steps=5, path_steps_most=5, lime_samples=30, riemann_steps=7, limsse_epochs=5)
    (found,) = explain(scorer, [one], methods_for("transformer"), budget)
    costs = {m: a.cost for m, a in found.attributions.items()}
    assert [costs[f"limsse_{loss}"].unique for loss in ("logit", "probability")] == [0, 0]
    assert [costs[f"gradient_integrated_{of}_dot"].unique for of in ("logit", "probability")] == [0, 0]
    assert [costs[m].unique for m in ("gradient_l1", "gradient_l2", "gradient_x_input")] == [1, 0, 0]
    assert costs["integrated_gradients_plain"].unique == 0
    assert costs["integrated_gradients"].unique == 5 + 1  # the whole text is known from the prediction
    assert [costs[m].unique for m in ("attention", "scaled_attention", "scaled_attention_squared")] == [1, 0, 0]
    assert costs["occlusion_1"].unique == 4 and costs["omission_1"].unique == 4
    assert costs["omission_1"].unique_tokens == 4 * 5 and costs["occlusion_1"].unique_tokens == 4 * 6
    assert costs["lime"].unique <= 29 and costs["lime"].requested_tokens == 30 * 6
    assert scorer.costs == {"prediction": Cost(1, 1, 6, 6)}
