"""The ledger: what is counted, shared, kept apart, batched, and what an exception leaves."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import case, models, words

from attreval.core.records import Cost
from attreval.methods import METHODS, methods_for
from attreval.methods.run import LEAST, explain_instances
from attreval.models.questions import DEEPLIFT, Evaluate, PathGradient
from attreval.models.scorer import Scorer, cut_batches, pad_rows


class Fake:
    """Logits are the sum and the number of a row's unmasked ids (and 1 at bfloat16); batches are
    recorded.
    """

    labels = ("sum", "count", "rounded")
    family = "transformer"
    device = torch.device("cpu")
    pad_id = 9

    def __init__(self, fail_at: int | None = None):
        self.batches = []
        self.fail_at = fail_at

    def logits(self, ids, mask, segments, precision="float32", embeddings=None):
        if len(self.batches) == self.fail_at:
            self.fail_at = None
            raise RuntimeError("out of memory")
        self.batches.append((tuple(mask.shape), precision))
        total = (ids * mask).sum(dim=1) + 100 * (segments * mask).sum(dim=1)
        rounded = torch.full_like(total, precision == "bfloat16")
        return torch.stack([total, mask.sum(dim=1), rounded], dim=1).float()


def row(*ids, side=0):
    return np.array(ids), np.full(len(ids), side)


def ask(*rows, sampled=False):
    """A conversation that asks once and returns the answer."""
    return (yield Evaluate(np.array(rows), np.zeros(len(rows[0]), np.int64), sampled))


def test_answers_come_back_in_the_order_asked_and_every_evaluation_is_told():
    heard = []
    rows = [row(1), row(1, 2, 3), row(5, 5), row(1), row(1, 2), row(1, 2, side=1), row(2, 2, 2, 2)]
    found = Scorer(Fake(), token_budget=5, notify=heard.append).logits(rows)
    assert found.dtype == np.float64 and sum(heard) == 6
    assert found[:, 0].tolist() == [1, 6, 10, 1, 3, 203, 8]
    assert found[:, 1].tolist() == [1, 3, 2, 1, 2, 2, 4]


def test_costs_are_counted_by_hand_and_stay_when_answers_are_forgotten():
    scorer = Scorer(Fake())
    scorer.logits([row(1, 2, 3), row(4, 5), row(1, 2, 3)], account="first")
    assert scorer.costs["first"] == Cost(requested=3, unique=2, requested_tokens=8, unique_tokens=5)
    assert scorer.costs["first"].reused == 1
    for asked, cost in (
        ([row(4, 5), row(7)], Cost(2, 1, 3, 1)),
        ([row(7)], Cost(3, 1, 4, 1)),
        (None, Cost(3, 1, 4, 1)),
        ([row(7)], Cost(4, 2, 5, 2)),
    ):
        if asked is None:
            scorer.forget()
        else:
            scorer.logits(asked, account="second")
        assert scorer.costs["second"] == cost
    assert Cost(1, 2, 3, 4, 5) + Cost(10, 20, 30, 40, 50) == Cost(11, 22, 33, 44, 55)


def test_empty_requests():
    scorer = Scorer(Fake())
    assert scorer.logits([]).shape == (0, 3)
    nothing = Evaluate([], [])
    one = Evaluate([np.array([1])], [np.array([0])])
    assert [a.shape for a in scorer.answer([nothing, one], ["a", "b"])] == [(0, 3), (1, 3)]
    assert scorer.answer([], []) == [] and scorer.converse([]) == []
    assert scorer.costs["a"] == Cost()


def test_conversations_share_answers_and_batches():
    scorer = Scorer(model := Fake())
    a, b = scorer.converse([("a", ask((1, 2), (3, 4))), ("b", ask((3, 4), (5, 6)))])
    assert a.tolist() == [[3, 2, 0], [7, 2, 0]] and b.tolist() == [[7, 2, 0], [11, 2, 0]]
    assert model.batches == [((3, 2), "float32")]
    assert [(scorer.costs[name].unique, scorer.costs[name].reused) for name in "ab"] == [
        (2, 0),
        (1, 1),
    ]


def test_conversations_of_any_length_run_side_by_side():
    def twice():
        first = yield Evaluate(np.array([[1]]), np.zeros(1, np.int64))
        second = yield Evaluate(np.array([[int(first[0, 0]) + 1]]), np.zeros(1, np.int64))
        return second[0, 0]

    said = Scorer(Fake()).converse(
        [("x", (nothing for nothing in ())), ("y", twice()), ("z", twice())]
    )
    assert said == [None, 2, 2]


def test_precisions_are_kept_apart():
    scorer = Scorer(model := Fake(), sampled_precision="bfloat16")
    found = scorer.converse(
        [("x", ask((1, 2))), ("y", ask((1, 2), sampled=True)), ("z", ask((1, 2)))]
    )
    assert [f[0, 2] for f in found] == [0, 1, 0]
    assert sorted(p for _, p in model.batches) == ["bfloat16", "float32"]
    assert [scorer.costs[n].unique for n in "xyz"] == [1, 1, 0]
    assert scorer.logits([row(1, 2)], "bfloat16")[0, 2] == 1 and len(model.batches) == 2


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
        total = 0
        for at, end in itertools.pairwise([0, *cuts, len(lengths)]):
            n = end - at
            size = max(1, lengths[at])
            total += batch + size * (step + n) if n == 1 or n * size <= budget else np.inf
        return total

    inner = range(1, len(lengths))
    every = [itertools.combinations(inner, count) for count in range(len(lengths))]
    found = cut_batches(lengths, budget, batch, step)
    cheapest = min(map(price, itertools.chain(*every)))
    assert price([part.stop for part in found[:-1]]) == cheapest


def test_only_sampled_methods_may_be_asked_in_the_faster_precision(tiny, texts):
    known = methods_for("transformer")
    recorder = models.Recorder(tiny)
    scorer = Scorer(recorder, sampled_precision="bfloat16")
    sampled = [m for m in known if METHODS[m].sampled]
    budget = LEAST.changed(lime_samples=30)
    explain_instances(scorer, texts[1:2], [m for m in known if m not in sampled], budget)
    assert {p for _, _, p in recorder.batches} == {"float32"}
    for name in sampled:
        scorer.forget()
        recorder.batches.clear()
        found = []
        for one in (Scorer(tiny), scorer):
            (explained,) = explain_instances(one, texts[1:2], [name], budget)
            found.append(explained.attributions[name].scores)
        assert "bfloat16" in {p for _, _, p in recorder.batches}, name
        assert 0 < np.abs(found[0] - found[1]).max() < 0.1, name


def test_batches_are_cut_by_what_a_device_is_fast_at():
    on_gpu = Fake()
    on_gpu.device = "meta"
    fewest = Scorer(on_gpu, 2000).batch_costs
    for lengths, budget, costs, ends in (
        ([40] * 8 + [20] * 8, 1024, {}, [8, 16]),  # padding would cost more than another batch
        ([40] * 8 + [39] * 8, 1024, {}, [16]),
        ([40, 20], 1024, {}, [2]),  # two batches of a row would cost more than what is padded
        ([240] * 2 + [200] * 8, 16384, {"batch": 0, "step": 6}, [10]),
        ([400] * 5 + [2] * 9, 2000, fewest, [5, 14]),
        ([400] * 4 + [2], 2000, fewest, [5]),
    ):
        with case(lengths):
            assert [batch.stop for batch in cut_batches(lengths, budget, **costs)] == ends


def test_padding_is_masked_and_at_the_end():
    ids, mask, segments = pad_rows([row(1, 2, 3, side=1), row(4)], 9)
    assert ids.tolist() == [[1, 2, 3], [4, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert segments.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_an_exception_leaves_only_right_answers():
    rows = [row(*range(1, n + 1)) for n in (5, 4, 3, 2)]
    scorer = Scorer(model := Fake(fail_at=2), token_budget=5)
    with pytest.raises(RuntimeError, match="out of memory"):
        scorer.logits(rows)
    assert len(scorer.answers) == 2
    assert scorer.logits(rows)[:, 0].tolist() == [15, 10, 6, 3]
    assert len(model.batches) == 4  # what was answered is not asked again


def test_batches_that_a_gpu_cannot_hold_are_halved_down_to_one_row():
    class Small(Fake):
        def logits(self, ids, *more):
            if ids.numel() > self.room:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().logits(ids, *more)

    rows = [row(*range(n, 4 * n)) for n in range(1, 9)]
    model = Small()
    plain = Fake()
    heard = []
    model.room = 60
    scorer = Scorer(model, token_budget=1000, notify=heard.append)
    assert scorer.logits(rows).tolist() == Scorer(plain, token_budget=1000).logits(rows).tolist()
    assert sum(heard) == len(rows) and max(np.prod(shape) for shape, _ in model.batches) <= 60
    assert scorer.token_budget == 48 and len(scorer.answers) == len(rows)
    model.room = 20  # less than the longest row takes
    scorer.forget()
    with pytest.raises(torch.OutOfMemoryError):
        scorer.logits(rows)


def path(tokens, nodes=(0.25, 0.5), weights=(0.3, 0.7), **more):
    return PathGradient(tokens.ids, tokens.segments, 0, nodes, weights, **more)


def test_paths_are_counted_and_shared(tiny, texts):
    scorer = Scorer(tiny)
    tokens = tiny.tokens(texts[2])
    length = len(tokens)
    first, again, other = scorer.answer(
        [path(tokens), path(tokens), path(tokens, (1.0,), (1.0,))], ["a", "b", "b"]
    )
    assert first is again and other is not first and np.abs(first.gradient).max() > 0
    assert scorer.costs["a"] == Cost(2, 2, 2 * length, 2 * length, gradients=2)
    assert scorer.costs["b"] == Cost(3, 1, 3 * length, length, gradients=3)


def test_paths_that_differ_in_anything_are_different_questions():
    one = PathGradient(np.array([1, 2, 3]), np.zeros(3, np.int64), 0, (0.25, 0.5), (0.3, 0.7))
    assert replace(one).key() == one.key()
    for name, other in {
        "ids": np.array([1, 2, 4]),
        "segments": np.array([0, 0, 1]),
        "target": 1,
        "nodes": (0.2, 0.5),
        "weights": (0.5, 0.5),
        "baseline": np.array([0, 0, 0]),
        "of": "probability",
    }.items():
        assert replace(one, **{name: other}).key() != one.key(), name


FORMS = (
    ("transformer", {}),
    ("transformer", {"where": "entry"}),
    ("transformer", {"where": "bare"}),
    ("transformer", {"rule": DEEPLIFT}),
    *itertools.product(("lstm", "gru", "qlstm", "cnn"), ({}, {"rule": DEEPLIFT})),
)


def test_what_is_asked_of_one_point_is_read_once(tiny, texts):
    """Logit and probability, of any class, along one path: one forward pass a node, and the very
    same numbers.
    """
    for which, form in FORMS:
        model = tiny if which == "transformer" else words.tiny_words(which)
        asked = []
        for t in map(model.tokens, texts[1:3]):
            one = PathGradient(t.ids, t.segments, 0, (0.25, 0.5, 1.0), (0.3, 0.6, 0.1), **form)
            asked += [one, replace(one, of="probability"), replace(one, target=1)]
        together = Scorer(recorder := models.Recorder(model)).answer(asked, [""] * 6)
        with case(which, form):
            if not ("rule" in form and which == "transformer"):  # captum reads it on its own
                assert sum(len(mask) for _, mask, _ in recorder.batches) == 2 * 3
            for question, there in zip(asked, together, strict=True):
                (alone,) = Scorer(model).answer([question], [""])
                close = 1e-5 * np.abs(alone.gradient).max()
                assert_allclose(there.gradient, alone.gradient, atol=close)
            for kind in range(3):
                same = Scorer(model).answer(asked[kind::3], [""] * 2)
                for a, b in zip(same, together[kind::3], strict=True):
                    for part in ("gradient", "difference", "values"):
                        np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


def test_a_copy_that_sampled_rows_made_gives_gradients(texts):
    """The copy of the network in a precision may be made by a question without gradients."""
    scorer = Scorer(models.tiny_model(), precision="float64")
    tokens = scorer.model.tokens(texts[0])
    scorer.logits([(tokens.ids, tokens.segments)])
    assert np.abs(scorer.answer([path(tokens)], [""])[0].gradient).max() > 0


def test_methods_on_one_text_share_what_they_ask(tiny):
    """n = 4 content tokens, L = 6; tests/methods/test_method_facts.py has each method's formula."""
    scorer = Scorer(tiny)
    budget = LEAST.changed(path_steps=5, path_steps_most=5, lime_samples=30)
    asked = [models.instance("good bad slow film", name="x")]
    (found,) = explain_instances(scorer, asked, methods_for("transformer"), budget)
    costs = {name: one.cost for name, one in found.attributions.items()}
    new = {
        "gradient_l1": 1,
        "gradient_l2": 0,
        "gradient_x_input": 0,
        "integrated_gradients": 5 + 1,  # the whole text is known from the prediction
        "integrated_gradients_plain": 0,
        "gradient_integrated_logit_dot": 0,
        "gradient_integrated_probability_dot": 0,
        "attention": 1,
        "scaled_attention": 0,
        "scaled_attention_squared": 0,
        "occlusion_1": 4,
        "omission_1": 4,
        "limsse_logit": 0,
        "limsse_probability": 0,
    }
    assert {name: costs[name].unique for name in new} == new
    assert costs["omission_1"].unique_tokens == 4 * 5
    assert costs["occlusion_1"].unique_tokens == 4 * 6
    assert costs["lime"].unique <= 29 and costs["lime"].requested_tokens == 30 * 6
    assert scorer.costs == {"prediction": Cost(1, 1, 6, 6)}


def test_path_of_a_probability_is_the_chain_rule(tiny, texts):
    scorer = Scorer(tiny, precision="float64")
    tokens = tiny.tokens(texts[1])
    text = (tokens.ids, tokens.segments)
    z = np.exp(scorer.logits([text])[0])
    p = z / z.sum()
    asked = [PathGradient(*text, k) for k in range(3)]
    *by_logit, found = scorer.answer([*asked, PathGradient(*text, 1, of="probability")], [""] * 4)
    slopes = p[1] * (np.eye(3)[1] - p)
    expected = sum(slope * a.gradient for slope, a in zip(slopes, by_logit, strict=True))
    assert_allclose(found.gradient, expected, atol=1e-10)
