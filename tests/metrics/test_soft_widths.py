"""Soft erasure of encoders whose embeddings are narrower than their hidden states: ELECTRA (small) and ALBERT."""

from dataclasses import replace

import numpy as np
import pytest
from reference import models
from transformers import AlbertConfig, AlbertForSequenceClassification, ElectraConfig, ElectraForSequenceClassification

from attreval.metrics.erasure import erase
from attreval.metrics.protocol import Protocol
from attreval.metrics.soft_erasure import soft_erase
from attreval.models.placing import freeze
from attreval.models.questions import SoftErasure
from attreval.models.scorer import Scorer

SIZES = {
    "embedding_size": 16,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
KINDS = {
    "electra": (ElectraConfig, ElectraForSequenceClassification),
    "albert": (AlbertConfig, AlbertForSequenceClassification),
}


def ask(question):
    """A conversation of one question."""
    return (yield question)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("soft", ["keep", "noise", "attend"])
def test_narrow_embeddings_are_erased_softly(kind, soft):
    tiny = models.tiny_model()
    config, network = KINDS[kind]
    made = network(config(vocab_size=len(tiny.tokenizer), num_labels=3, pad_token_id=0, **SIZES))
    models.draw_weights(made, 3)
    model = replace(tiny, network=freeze(made), copies={})
    assert model.width == 16 and models.tiny_model().width == 32
    tokens, scorer = model.tokens(models.instance("the brave film", "not bad")), Scorer(model, precision="float64")
    scores, protocol = np.arange(float(len(tokens.content))), Protocol(draws=2, soft=soft)
    (hard,) = scorer.converse([("x", erase(tokens, scores))])
    (found,) = scorer.converse([("x", soft_erase(tokens, scores, hard.target, ("t",), protocol))])
    assert ((found.sufficiency > 0) & (found.sufficiency < 1)).all()
    if soft == "keep":  # with everything kept, nothing is disturbed
        kept = SoftErasure(tokens.ids, tokens.segments, np.ones((1, len(tokens))), (1,), of="probability")
        np.testing.assert_allclose(scorer.converse([("x", ask(kept))])[0][0, hard.target], hard.full, atol=1e-9)


def test_a_noise_keeps_and_removes_nothing_that_could_be_counted(tiny):
    tokens = tiny.tokens(models.instance("the brave film was bad"))
    scorer, scores = Scorer(tiny, precision="float64"), np.array([0.0, 4.0, 1.0, 1.0, 1.0])

    def rates(**fields):
        (found,) = scorer.converse([("x", soft_erase(tokens, scores, 0, ("t",), Protocol(**fields)))])
        return found.keep_rate, found.drop_rate

    mean = (4 + 3) / 4 / 5  # of the scores by min-max
    np.testing.assert_allclose(rates(), (mean, mean))
    np.testing.assert_allclose(rates(inverted=True), (1 - mean, 1 - mean))
    released = rates(norm="released")  # one rule for Soft-NS, another for Soft-NC
    assert abs(released[0] - released[1]) > 0.05
    assert np.isnan(rates(soft="noise")).all()
