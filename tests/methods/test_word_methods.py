"""The methods of Poerner et al. (2018) on word-level models, against slow twins; and what must hold
for all of them.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import case, models, networks, substitutes, words

from attreval.methods import METHODS, limsse, methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.models.questions import CellParts
from attreval.models.scorer import Scorer

KINDS = pytest.mark.parametrize("kind", words.KINDS, ids=str)
GATED = pytest.mark.parametrize("kind", words.KINDS[:-1], ids=str)
SEEDS = range(2)
FEW = {
    "path_steps": 6,
    "lime_samples": 30,
    "riemann_steps": 6,
    "limsse_epochs": 30,
    "shap_evaluations": 20,
}
BUDGET = Budget(**FEW, units=UnitSettings(shapley_samples=40))
sentence = st.lists(st.sampled_from([*words.VOCABULARY, "unheard"]), min_size=1, max_size=9).map(
    " ".join
)


def embedded(model, ids):
    return model.embed(torch.from_numpy(ids)[None], "float64")[0].detach()


def talk(model, tokens, name, target, budget=BUDGET, token_budget=8192):
    """The values of one method on several texts that share batches."""
    scorer = Scorer(model, token_budget, "float64")
    rng = np.random.default_rng(0)
    return [
        s.values
        for s in scorer.converse(
            ("x", METHODS[name].converse(t, target, budget, rng)) for t in tokens
        )
    ]


def logit(model, ids, target):
    """The class score of a row of ids; the bias where the row is empty."""
    if len(ids) == 0:
        return float(model.at("float64").output.bias[target])
    return networks.forward(model, embedded(model, ids).numpy())[2][target]


def test_eight_gradients():
    for kind in words.KINDS:
        with case(kind):
            for seed in SEEDS:
                model = words.tiny_words(*kind, seed=seed)
                tokens = [
                    model.tokens(models.instance(t))
                    for t in ("good", "the film was not very good , unheard .")
                ]
                target = seed % 3
                for of, path in product(("logit", "probability"), (False, True)):
                    named = f"gradient_{'integrated' if path else 'simple'}_{of}"
                    simple = of == "logit" and not path
                    l2, dot = (
                        ("gradient_l2", "gradient_x_input")
                        if simple
                        else (f"{named}_l2", f"{named}_dot")
                    )
                    found = zip(
                        talk(model, tokens, l2, target),
                        talk(model, tokens, dot, target),
                        strict=True,
                    )
                    for t, both in zip(tokens, found, strict=True):
                        expected = substitutes.gradient_scores(
                            model, embedded(model, t.ids), of, target, 6 if path else 1
                        )
                        np.testing.assert_allclose(both, expected, atol=1e-9)


def test_decomposition_equals_its_definition_and_telescopes():
    for kind in words.KINDS[:-1]:
        with case(kind):
            for seed in SEEDS:
                model = words.tiny_words(*kind, seed=seed)
                rows = words.rows(seed)
                scorer = Scorer(model, token_budget=[1, 20, 8192][seed % 3], precision="float64")
                found = scorer.answer(
                    [CellParts(r, np.zeros_like(r)) for r in rows], ["x"] * len(rows)
                )
                for ids, parts in zip(rows, found, strict=True):
                    run, _, scores = networks.forward(model, embedded(model, ids).numpy())
                    for target in range(3):
                        expected = substitutes.decompose(model, run, target)
                        np.testing.assert_allclose(parts[:, target], expected, atol=1e-10)
                        owed = scores[target] - float(model.at("float64").output.bias[target])
                        assert parts[:, target].sum() == pytest.approx(owed, abs=1e-10)


def test_only_the_quasi_recurrent_lstm_can_leave_its_output_gate_out():
    for cell, changes in (
        ("qlstm", True),
        ("lstm", False),
        ("qgru", False),
    ):
        with case(cell, changes):
            model = words.tiny_words(cell)
            ids = words.rows(1)[-1]
            ask = [CellParts(ids, np.zeros_like(ids), gate) for gate in (True, False)]
            with_gate, without = Scorer(model, precision="float64").answer(ask, ["x"] * 2)
            assert (np.abs(with_gate - without).max() > 1e-3) == changes


@KINDS
@pytest.mark.parametrize("size", [1, 3, 7])
@settings(max_examples=4)
@given(
    texts=st.lists(sentence, min_size=1, max_size=3),
    target=st.integers(0, 2),
    budget=st.sampled_from([1, 8192]),
)
def test_occlusion_and_omission(kind, size, texts, target, budget):
    """Windows of one text are computed row by row, or (reuse_from 1, where the layer allows) only
    what they change.
    """
    model = replace(words.tiny_words(*kind), reuse_from=16 if budget == 1 else 1)
    tokens = [model.tokens(models.instance(t)) for t in texts]
    for word in ("occlusion", "omission"):
        found = talk(model, tokens, f"{word}_{size}", target, token_budget=budget)
        for t, values in zip(tokens, found, strict=True):
            n = len(t)
            expected = np.zeros(len(t))
            for start in range(1 - size, n):  # windows are cut at the borders
                window = slice(max(0, start), min(n, start + size))
                ids = t.ids.copy()
                ids[window] = 0
                ids = ids if word == "occlusion" else np.delete(t.ids, window)
                expected[window] += (logit(model, t.ids, target) - logit(model, ids, target)) / size
            np.testing.assert_allclose(values, expected, atol=1e-9)


def test_limsse_on_short_and_long_texts():
    for loss in ["class", "logit", "probability"]:
        for solver in ["descent", "exact"]:
            with case(loss, solver):
                model = words.tiny_words("gru")
                target = 1
                texts = ("good", "not bad", "the film was not very good , slow . a plot")
                tokens = [model.tokens(models.instance(t)) for t in texts]
                budget = Budget(limsse_epochs=200, limsse_solver=solver)
                for t, values in zip(
                    tokens, talk(model, tokens, f"limsse_{loss}", target, budget), strict=True
                ):
                    cuts = substitutes.substrings(len(t))
                    design = np.array(
                        [[a <= i < b for i in range(len(t))] for a, b in cuts], dtype=float
                    )
                    logits = np.array(
                        [[logit(model, t.ids[a:b], k) for k in range(3)] for a, b in cuts]
                    )
                    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
                    y = {
                        "class": logits.argmax(axis=1) == target,
                        "logit": logits[:, target],
                        "probability": p[:, target],
                    }[loss]
                    if solver == "descent":
                        np.testing.assert_allclose(
                            values, substitutes.descend(design, y, loss == "class", 200), atol=1e-9
                        )
                    elif loss != "class":
                        np.testing.assert_allclose(
                            design @ values,
                            design @ np.linalg.lstsq(design, y, rcond=None)[0],
                            atol=1e-3,
                        )
                    else:
                        slope = (
                            design.T @ (limsse.logistic(design @ values) - y) / len(cuts)
                            + 2e-6 * values
                        )
                        assert np.abs(slope).max() < 1e-5


@given(n=st.integers(1, 40), samples=st.integers(1, 80), seed=st.integers(0, 99))
def test_substrings_drawn_are_short_distinct_and_all_there_where_they_fit(n, samples, seed):
    cuts = limsse.draw_substrings(n, samples, "exhaustive", np.random.default_rng(seed))
    every = substitutes.substrings(n)
    assert len(set(map(tuple, cuts.tolist()))) == len(cuts) == min(samples, len(every))
    assert set(map(tuple, cuts.tolist())) <= set(every)
    drawn = limsse.draw_substrings(n, samples, "random", np.random.default_rng(seed))
    assert len(drawn) == samples and set(map(tuple, drawn.tolist())) <= set(every)


def test_scores_are_the_same_in_any_company():
    for kind in {kind[0]: kind for kind in words.KINDS}.values():
        with case(kind):
            model = words.tiny_words(*kind)
            made = models.sample_instances()[2:4]
            names = methods_for(model.family)

            def scores(token_budget, group, order=1):
                found = explain_instances(
                    Scorer(model, token_budget), made[::order], names, BUDGET, ("t",), group=group
                )
                return {
                    (e.instance.id, m): a.scores for e in found for m, a in e.attributions.items()
                }

            together = scores(8192, 8)
            assert len(together) == 2 * len(names)
            alone = scores(1, 1, -1)  # and in another order
            for key, values in together.items():
                np.testing.assert_allclose(
                    alone[key], values, atol=1e-4 if "lime" in key[1] else 1e-5, err_msg=str(key)
                )


def test_what_a_window_changes_equals_running_every_row():
    for kind in words.KINDS:
        for kernel in [1, 4]:
            with case(kind, kernel):
                model = words.tiny_words(*kind, kernel=kernel)
                reuses = kind[2] == "turn_first"
                assert (model.reuse_from < np.inf) == reuses
                for ids, size, blank in product(
                    words.rows(0) if reuses else (), (1, 3, 7), (True, False)
                ):
                    found = (
                        model.erased(torch.from_numpy(ids), size, blank, "float64").detach().numpy()
                    )
                    windows = [
                        (np.arange(len(ids)) >= at) & (np.arange(len(ids)) < at + size)
                        for at in range(len(found))
                    ]
                    rows = [
                        np.where(window, 0, ids) if blank else ids[~window] for window in windows
                    ]
                    expected = Scorer(model, precision="float64").logits(
                        [(row, row * 0) for row in rows]
                    )
                    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_reuse_is_counted_like_running_the_rows():
    made = models.instance(" ".join(["the film was not very good ,"] * 3))
    model = words.tiny_words("cnn")
    costs = []
    for reuse_from in (1, float("inf")):
        scorer = Scorer(replace(model, reuse_from=reuse_from))
        (found,) = explain_instances(
            scorer, [made], ["occlusion_1", "omission_3", "occlusion_3"], BUDGET
        )
        costs.append([a.cost for a in found.attributions.values()])
    assert costs[0] == costs[1] and costs[0][0].unique == 21
