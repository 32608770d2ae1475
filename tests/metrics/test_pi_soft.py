"""Soft erasure over many rates: a slow twin, equal means at every rate, and the two at one half."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import softness, walks
from reference.faithfulness import probability
from reference.scored import ask, scored

from attreval.core.seeds import seed_of
from attreval.metrics.pi_soft import RATES
from attreval.metrics.protocol import Protocol
from attreval.metrics.scored_text import Settings
from attreval.models.scorer import Scorer

few = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
NAMES = ("pi_soft_nc", "pi_soft_ns")


@settings(max_examples=6)
@given(scores=st.lists(few, min_size=1, max_size=4))
def test_both_equal_their_twin(tiny, scores):
    words, settings = " ".join(["good", "film", "bad", "slow"][: len(scores)]), Settings(protocol=Protocol(draws=1))
    text = scored(tiny, words, scores, names=("t",), settings=settings)
    found = list(ask(Scorer(tiny, precision="float64"), NAMES, text).values())
    tokens, network, content = text.tokens, tiny.at("float64"), text.tokens.content
    k = int(Scorer(tiny, precision="float64").logits([(tokens.ids, tokens.segments)])[0].argmax())
    full, none = (probability(network, tokens, gone, k) for gone in (set(), set(range(len(tokens)))))
    values = []
    for rate in RATES:
        pair = []
        for kept, at in (("1-a", 0), ("a", 1)):
            strengths, chances = np.ones(len(tokens)), np.array(softness.importance(scores, "calibrated", rate))
            strengths[content] = chances if kept == "a" else 1 - chances
            p = softness.probability(network, tokens, strengths, seed_of("soft", "t", "m", kept, 0), "keep", k)
            pair.append(softness.soft_values(full, none, p)[at])
        values.append(pair)
    wanted = [walks.area(RATES, list(column)) / 0.8 for column in zip(*values, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    for name in NAMES:
        with pytest.raises(ValueError, match="finite"):
            ask(Scorer(tiny), [name], scored(tiny, words, [*scores[1:], np.nan]))
