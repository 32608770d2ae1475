"""LIMSSE's fits side by side: each the same as alone, and as by torch's optimiser over the matrix
of presence.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import models, substitutes, words

from attreval.methods import limsse
from attreval.methods.limsse import Descent
from attreval.methods.method import Budget
from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer


def make_fit(n, classify, seed, epochs=60, samples=90, how="exhaustive"):
    """A fit to random values; a substring that is drawn twice has one value."""
    rng = np.random.default_rng(seed)
    cuts = limsse.draw_substrings(n, samples, how, rng)
    each = rng.standard_normal((n + 1, n + 1)) * 2
    values = each[cuts[:, 0], cuts[:, 1]]
    return Descent(cuts, n, (values > 0).astype(float) if classify else values, classify, epochs)


def presence(fit):
    """(w, n) 1 where a token lies in a substring."""
    tokens = np.arange(fit.n)
    return ((fit.cuts[:, :1] <= tokens) & (tokens < fit.cuts[:, 1:])).astype(float)


sizes = (
    st.integers(1, 30),
    st.booleans(),
    st.integers(0, 99),
    st.sampled_from([1, 40]),
    st.sampled_from([5, 90, 400]),
)
fits = st.builds(make_fit, *sizes, st.sampled_from(["exhaustive", "random"]))


@settings(max_examples=30)
@given(asked=st.lists(fits, min_size=1, max_size=7), most=st.sampled_from([1, 64, 4096]))
def test_each_fit_is_that_of_the_released_code_in_any_company(asked, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limsse, "TOGETHER", most)
        found = Descent.together(asked)
    for fit, weights in zip(asked, found, strict=True):
        expected = substitutes.descend(presence(fit), fit.values, fit.classify, fit.epochs)
        np.testing.assert_allclose(weights, expected, atol=1e-10)


def test_company_changes_no_bit():
    asked = [
        make_fit(n, classify, n, 200, 1000) for n in (4, 25) for classify in (False, True, False)
    ]
    for fit, weights in zip(asked, Descent.together(asked), strict=True):
        (alone,) = Descent.together([fit])
        assert weights.tobytes() == alone.tobytes()


def test_texts_and_losses_fit_together_and_cost_nothing(monkeypatch):
    """One loop for three losses of two texts of six words or more; a shorter one has fewer
    questions to ask first.
    """
    model = words.tiny_words("gru")
    loops = []
    together = Descent.together
    monkeypatch.setattr(
        Descent, "together", staticmethod(lambda asked: loops.append(len(asked)) or together(asked))
    )
    texts = ["the film was very slow , not good", "a plot was bad , very bad .", "not bad"]
    names = ["limsse_class", "limsse_logit", "limsse_probability"]
    made = [models.instance(text, name=text) for text in texts]
    heard = []
    scorer = Scorer(model, notify=heard.append)
    explained = explain_instances(scorer, made, names, Budget(limsse_epochs=20), ("t",))
    assert sorted(loops) == [3, 6]
    asked = 6 * len(explained[0].tokens) - 15
    assert all(explained[0].attributions[name].cost.requested == asked for name in names)
    # what was made is what was booked: the prediction, and each distinct substring once
    booked = sum(a.cost.unique for e in explained for a in e.attributions.values())
    assert sum(heard) == booked + scorer.costs["prediction"].unique
