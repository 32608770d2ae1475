"""Layer-wise relevance propagation (Bach et al. 2015) and DeepLIFT (Shrikumar et al. 2017).

In gated networks as Poerner et al. (2018, section 3.3) apply them: the epsilon rule, with gates as weights; the
backward pass itself is in models.words.lrp. For transformers DeepLIFT is captum's (Zhao & Aletras 2023, section 4.3),
with what it covers in models.captum_deeplift.
"""

from __future__ import annotations

from attreval.methods.method import Scores
from attreval.models.questions import DEEPLIFT, LRP, PathGradient, Rule


def relevance(rule: Rule, where: str = "words"):
    """The conversation that asks for the relevance of each word by a rule, summed over its embedding."""

    def converse(tokens, target, budget, rng):
        answer = yield PathGradient(tokens.ids, tokens.segments, target, rule=rule, where=where)
        return Scores(answer.gradient.sum(axis=1)[tokens.content])

    return converse


lrp, deeplift = relevance(LRP), relevance(DEEPLIFT)
# as the released code of Zhao & Aletras: word embeddings enter the encoder without positions, types and normalisation
deeplift_released = relevance(DEEPLIFT, "bare")
