"""Propagation of a class score back to the words: LRP, DeepLIFT and cell decomposition.

In word-level networks as Poerner et al. (2018, sections 3.2, 3.3) apply them: the epsilon rule,
with gates as weights (models.words.lrp). In transformers LRP is AttnLRP (Achtibat et al. 2024),
with CP-LRP (Ali et al. 2022) and GIM (Edin et al. 2025b) beside it (models.transformer_lrp), and
DeepLIFT (Shrikumar et al. 2017) is captum's (Zhao & Aletras 2023, section 4.3) or follows its rule
in every layer (models.transformer_deeplift).
"""

from functools import partial
from typing import Literal

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, Scores, method, on_content
from attreval.models.questions import (
    CP_LRP,
    DEEPLIFT,
    DEEPLIFT_COMPLETE,
    GIM,
    LRP,
    CellParts,
    Conversation,
    PathGradient,
    PropagationRule,
)

_propagation = partial(method, kind="propagation", evaluations="1")
_transformer_lrp = partial(
    _propagation,
    families=("transformer",),
    lacking="they have no attention, whose rule is all that sets it apart from `lrp`",
)
_captum = partial(_propagation, requires=("captum",), extra="captum")


def _ask_relevance(
    tokens: Tokens,
    target: int,
    rule: PropagationRule,
    where: Literal["words", "entry", "bare"] = "words",
) -> Conversation:
    """Scores of the content tokens: relevance by a rule, summed over each embedding.

    Args:
        tokens: The text.
        target: The explained class.
        rule: How relevance is handed back.
        where: See questions.PathGradient.
    """
    answer = yield PathGradient(tokens.ids, tokens.segments, target, rule=rule, where=where)
    return on_content(tokens, answer.gradient.sum(axis=1))


@_propagation(
    "LRP",
    source="Poerner et al. 2018, section 3.2; Achtibat et al. 2024 for transformers",
    order=25,
    in_papers={"poerner2018": (16, "lrp")},
)
def lrp(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) relevance of words; biases keep their share.

    In word-level models gates count as weights. In transformers (AttnLRP) attention weights and
    values, as well as queries and keys, share half and half, and normalisation is linear.
    """
    return _ask_relevance(tokens, target, LRP)


@_transformer_lrp("CP-LRP", source="Ali et al. 2022", order=27)
def lrp_cp(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) relevance of words through values alone: attention and normalisation are constant."""
    return _ask_relevance(tokens, target, CP_LRP)


@_transformer_lrp("GIM", source="Edin et al. 2025b", order=28)
def gim(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) gradient times input, with softened attention gradients and constant normalisation.

    Gradients of products are halved, and those of the softmax are as at twice the temperature. The
    released code takes a blank's embedding off the input; this does not.
    """
    return _ask_relevance(tokens, target, GIM)


@_captum(
    "DeepLIFT",
    source="Poerner et al. 2018, section 3.3; captum for transformers",
    order=29,
    in_papers={"poerner2018": (17, "deeplift"), "zhao2023": (5, "DeepLift")},
)
def deeplift(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) differences to zero embeddings, handed back by the rescale rule.

    In word-level models the rule holds everywhere, in transformers where captum knows the
    nonlinearity; elsewhere plain gradients stand in.
    """
    return _ask_relevance(tokens, target, DEEPLIFT)


@_propagation(
    "DeepLIFT (every layer)",
    source="Shrikumar et al. 2017; ours for attention and normalisation",
    order=26,
    families=("transformer",),
    lacking="their `deeplift` holds in every layer",
)
def deeplift_complete(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) differences to zero embeddings, handed back by the rescale rule in every layer.

    The scores of all tokens sum to the difference of logits.
    """
    return _ask_relevance(tokens, target, DEEPLIFT_COMPLETE)


@_captum(
    "DeepLIFT (released)",
    source="Zhao & Aletras 2023, released code",
    order=40,
    families=("transformer",),
    lacking="the released code explains encoders, by captum",
)
def deeplift_released(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) DeepLIFT as the released code of Zhao & Aletras (2023) computes it.

    Word embeddings enter the encoder without positions, types and normalisation.
    """
    return _ask_relevance(tokens, target, DEEPLIFT, "bare")


@_propagation(
    "Cell decomposition",
    source="Murdoch & Szlam 2017; Poerner et al. 2018",
    order=30,
    families=("recurrent", "quasi"),
    in_papers={"poerner2018": (15, "decomp")},
    lacking="they have no cells in which a token leaves its part",
    name="decomposition",
)
def cell_decomposition(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) parts of the class score less its bias (Poerner et al. 2018, section 3.4)."""
    parts = yield CellParts(tokens.ids, tokens.segments, budget.decomposition_output_gate)
    return Scores(parts[tokens.content, target])
