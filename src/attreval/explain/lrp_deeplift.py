"""Which words does the class score come from, when it is handed back through the network sum by sum?

LRP (Bach et al. 2015) and DeepLIFT (Shrikumar et al. 2017) as Poerner et al. (2018, section 3.3) apply them to gated
networks: the epsilon rule, with gates as weights. The backward pass itself is in models.flow. For transformers DeepLIFT
is captum's (Zhao & Aletras 2023, section 4.3), with what it covers in models.captum_deeplift.
"""

from __future__ import annotations

from attreval.explain.method import Scores
from attreval.models.questions import DEEPLIFT, LRP, PathGradient, Rule


def relevance(rule: Rule):
    """The conversation that asks for the relevance of each word by a rule, summed over its embedding."""

    def converse(tokens, target, budget, rng):
        answer = yield PathGradient(tokens.ids, tokens.segments, target, rule=rule)
        return Scores(answer.gradient.sum(axis=1)[tokens.content])

    return converse


lrp, deeplift = relevance(LRP), relevance(DEEPLIFT)
