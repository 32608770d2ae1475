"""Layer-wise relevance propagation (Bach et al. 2015) and DeepLIFT (Shrikumar et al. 2017).

In gated networks as Poerner et al. (2018, sections 3.2, 3.3) apply them: the epsilon rule, with gates as weights; the
backward pass itself is in models.words.lrp. In transformers LRP is AttnLRP (Achtibat et al. 2024), with CP-LRP (Ali et
al. 2022) and GIM (Edin et al. 2025b) beside it, in models.transformer_lrp; DeepLIFT is captum's (Zhao & Aletras
2023, section 4.3), with what it covers in models.captum_deeplift, or follows its rule in every layer
(models.transformer_deeplift).
"""

from __future__ import annotations

from attreval.methods.method import Scores
from attreval.models.questions import CP_LRP, DEEPLIFT, DEEPLIFT_COMPLETE, GIM, LRP, PathGradient, Rule


def relevance(about: str, rule: Rule, where: str = "words"):
    """The conversation that asks for the relevance of each word by a rule, summed over its embedding.

    about: what is computed, in a sentence.
    """

    def converse(tokens, target, budget, rng):
        answer = yield PathGradient(tokens.ids, tokens.segments, target, rule=rule, where=where)
        return Scores(answer.gradient.sum(axis=1)[tokens.content])

    converse.__doc__ = about
    return converse


lrp = relevance(
    "(n,) relevance of words: gates count as weights (word-level models); attention weights and values, queries and "
    "keys share half and half, and normalisation is linear (transformers: AttnLRP). Biases keep their share.",
    LRP,
)
lrp_cp = relevance(
    "(n,) relevance of words with attention weights and the statistics of normalisation as constants: all of it goes "
    "through the values.",
    CP_LRP,
)
gim = relevance(
    "(n,) gradient times input, with the statistics of normalisation as constants, the gradient of a product halved, "
    "and that of the softmax as at twice the temperature; the released code takes a blank's embedding off the input.",
    GIM,
)
deeplift = relevance(
    "(n,) differences to zero embeddings, handed back by the rescale rule: everywhere in word-level models, in "
    "transformers where captum knows the nonlinearity, and elsewhere by plain gradients.",
    DEEPLIFT,
)
deeplift_complete = relevance(
    "(n,) differences to zero embeddings, handed back by the rescale rule in every layer of a transformer: scores of "
    "all tokens sum to the difference of logits.",
    DEEPLIFT_COMPLETE,
)
deeplift_released = relevance(
    "(n,) the same as the released code of Zhao & Aletras (2023) has it: word embeddings enter the encoder without "
    "positions, types and normalisation.",
    DEEPLIFT,
    "bare",
)
