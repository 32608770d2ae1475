"""The methods of Poerner et al. (2018) on word-level models, against slow twins; and what must hold
for all of them.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import case, models, networks, substitutes, words

from attreval.methods import METHODS, limsse, methods_for
from attreval.methods.method import Budget
from attreval.methods.run import LEAST, explain_instances
from attreval.models.questions import CellParts, softmax
from attreval.models.scorer import Scorer

SEEDS = range(2)
BUDGET = LEAST.changed(path_steps=6, path_steps_most=6, riemann_steps=6, lime_samples=30)
sentence = st.lists(st.sampled_from([*words.VOCABULARY, "unheard"]), min_size=1, max_size=9).map(
    " ".join
)


def embedded(model, ids):
    return model.embed(torch.from_numpy(ids)[None], "float64")[0].detach()


def talk(model, tokens, name, target, budget=BUDGET, token_budget=8192):
    """The values of one method on several texts that share batches."""
    scorer = Scorer(model, token_budget, "float64")
    rng = np.random.default_rng(0)
    talks = [("x", METHODS[name].converse(t, target, budget, rng)) for t in tokens]
    return [scores.values for scores in scorer.converse(talks)]


def logit(model, ids, target):
    """The class score of a row of ids; the bias where the row is empty."""
    if len(ids) == 0:
        return float(model.at("float64").output.bias[target])
    return networks.forward(model, embedded(model, ids).numpy())[2][target]


def test_eight_gradients():
    texts = ("good", "the film was not very good , unheard .")
    for kind, target in product(words.KINDS, SEEDS):
        model = words.tiny_words(*kind, seed=target)
        tokens = [model.tokens(models.instance(t)) for t in texts]
        for of, path in product(("logit", "probability"), (False, True)):
            named = f"gradient_{'integrated' if path else 'simple'}_{of}"
            names = (f"{named}_l2", f"{named}_dot")
            if of == "logit" and not path:
                names = ("gradient_l2", "gradient_x_input")
            with case(kind, target, named):
                found = [talk(model, tokens, name, target) for name in names]
                for t, *both in zip(tokens, *found, strict=True):
                    vectors = embedded(model, t.ids)
                    steps = 6 if path else 1
                    expected = substitutes.gradient_scores(model, vectors, of, target, steps)
                    assert_allclose(both, expected, atol=1e-9)


def test_decomposition_equals_its_definition_and_telescopes():
    for kind, seed in product(words.KINDS[:-1], SEEDS):
        model = words.tiny_words(*kind, seed=seed)
        rows = words.rows(seed)
        scorer = Scorer(model, token_budget=[1, 20][seed], precision="float64")
        bias = model.at("float64").output.bias.numpy()
        with case(kind, seed):
            asked = [CellParts(r, np.zeros_like(r)) for r in rows]
            for ids, parts in zip(rows, scorer.answer(asked, ["x"] * len(rows)), strict=True):
                run, _, scores = networks.forward(model, embedded(model, ids).numpy())
                expected = [substitutes.decompose(model, run, target) for target in range(3)]
                assert_allclose(parts.T, expected, atol=1e-10)
                assert_allclose(parts.sum(axis=0), scores - bias, atol=1e-10)


def test_only_the_quasi_recurrent_lstm_can_leave_its_output_gate_out():
    ids = words.rows(1)[-1]
    ask = [CellParts(ids, np.zeros_like(ids), gate) for gate in (True, False)]
    for cell, changes in (("qlstm", True), ("lstm", False), ("qgru", False)):
        found = Scorer(words.tiny_words(cell), precision="float64").answer(ask, ["x"] * 2)
        assert (np.abs(found[0] - found[1]).max() > 1e-3) == changes, cell


@settings(max_examples=4)
@given(
    texts=st.lists(sentence, min_size=1, max_size=3),
    target=st.integers(0, 2),
    budget=st.sampled_from([1, 8192]),
)
def test_occlusion_and_omission(texts, target, budget):
    """Windows of one text are computed row by row, or (reuse_from 1, where the layer allows) only
    what they change.
    """
    for kind, size in product(words.KINDS, (1, 3, 7)):
        model = replace(words.tiny_words(*kind), reuse_from=16 if budget == 1 else 1)
        tokens = [model.tokens(models.instance(t)) for t in texts]
        for word in ("occlusion", "omission"):
            found = talk(model, tokens, f"{word}_{size}", target, token_budget=budget)
            for t, values in zip(tokens, found, strict=True):
                n = len(t)
                whole = logit(model, t.ids, target)
                expected = np.zeros(n)
                for start in range(1 - size, n):  # windows are cut at the borders
                    window = slice(max(0, start), min(n, start + size))
                    ids = np.delete(t.ids, window)
                    if word == "occlusion":
                        ids = t.ids.copy()
                        ids[window] = 0
                    expected[window] += (whole - logit(model, ids, target)) / size
                assert_allclose(values, expected, atol=1e-9, err_msg=f"{kind} {size}")


def test_limsse_on_short_and_long_texts():
    model = words.tiny_words("gru")
    target = 1
    for text in ("good", "not bad", "the film was not very good , slow . a plot"):
        t = model.tokens(models.instance(text))
        cuts = substitutes.substrings(len(t))
        design = np.array([[a <= i < b for i in range(len(t))] for a, b in cuts], dtype=float)
        logits = np.array([[logit(model, t.ids[a:b], k) for k in range(3)] for a, b in cuts])
        y = {
            "class": logits.argmax(axis=1) == target,
            "logit": logits[:, target],
            "probability": softmax(logits)[:, target],
        }
        for loss, solver in product(y, ("descent", "exact")):
            budget = Budget(limsse_epochs=200, limsse_solver=solver)
            with case(text, loss, solver):
                (values,) = talk(model, [t], f"limsse_{loss}", target, budget)
                if solver == "descent":
                    expected = substitutes.descend(design, y[loss], loss == "class", 200)
                    assert_allclose(values, expected, atol=1e-9)
                elif loss != "class":
                    fit = np.linalg.lstsq(design, y[loss], rcond=None)[0]
                    assert_allclose(design @ values, design @ fit, atol=1e-3)
                else:
                    errors = networks.logistic(design @ values) - y[loss]
                    slope = design.T @ errors / len(cuts) + 2e-6 * values
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
    made = models.sample_instances()[2:4]
    for name in words.ARCHITECTURES:
        model = words.tiny_words(name)
        asked = (methods_for(model.family), BUDGET, ("t",))
        together = explain_instances(Scorer(model, 8192), made, *asked)
        # and in another order
        alone = explain_instances(Scorer(model, 1), made[::-1], *asked, group=1)
        for a, b in zip(together, alone[::-1], strict=True):
            for method, record in a.attributions.items():
                close = 1e-4 if "lime" in method else 1e-5
                same = b.attributions[method].scores
                assert_allclose(record.scores, same, atol=close, err_msg=method)


def test_what_a_window_changes_equals_running_every_row():
    for kind, kernel in product(words.KINDS, (1, 4)):
        model = words.tiny_words(*kind, kernel=kernel)
        reuses = kind[2] == "turn_first"
        assert (model.reuse_from < np.inf) == reuses
        for ids, size, blank in product(words.rows(0) if reuses else (), (1, 3, 7), (True, False)):
            with case(kind, kernel, len(ids), size, blank):
                found = model.erased(torch.from_numpy(ids), size, blank, "float64").detach()
                rows = []
                for at in range(len(found)):
                    places = np.arange(len(ids))
                    window = (at <= places) & (places < at + size)
                    row = np.where(window, 0, ids) if blank else ids[~window]
                    rows.append((row, row * 0))
                expected = Scorer(model, precision="float64").logits(rows)
                assert_allclose(found.numpy(), expected, atol=1e-12)


def test_reuse_is_counted_like_running_the_rows():
    made = models.instance(" ".join(["the film was not very good ,"] * 3))
    names = ["occlusion_1", "omission_3", "occlusion_3"]
    costs = []
    for reuse_from in (1, float("inf")):
        scorer = Scorer(replace(words.tiny_words("cnn"), reuse_from=reuse_from))
        (found,) = explain_instances(scorer, [made], names, BUDGET)
        costs.append([a.cost for a in found.attributions.values()])
    assert costs[0] == costs[1] and costs[0][0].unique == 21
