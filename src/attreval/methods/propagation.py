"""Propagation of a class score: LRP (Bach et al. 2015), DeepLIFT (Shrikumar et al. 2017), cell
decomposition.

In gated networks as Poerner et al. (2018, sections 3.2, 3.3) apply them: the epsilon rule, with
gates as weights; the backward pass itself is in models.words.lrp. In transformers LRP is AttnLRP
(Achtibat et al. 2024), with CP-LRP (Ali et al. 2022) and GIM (Edin et al. 2025b) beside it, in
models.transformer_lrp; DeepLIFT is captum's (Zhao & Aletras 2023, section 4.3), or follows its rule
in every layer; both are in models.transformer_deeplift.
"""

from functools import partial
from typing import Any, Literal

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Method, Rng, Scores, method, on_content
from attreval.models.questions import (
    CP_LRP,
    DEEPLIFT,
    DEEPLIFT_COMPLETE,
    GIM,
    LRP,
    CellParts,
    Conversation,
    PathGradient,
    Rule,
)

_propagation = partial(method, kind="propagation", evaluations="1")
_NO_ATTENTION = "they have no attention, whose rule is all that sets it apart from `lrp`"


def relevance(
    title: str,
    about: str,
    rule: Rule,
    where: Literal["words", "entry", "bare"] = "words",
    **facts: Any,
) -> Method:
    """The method that asks for the relevance of each word by a rule, summed over its embedding.

    about: what is computed, in a sentence. where: see questions.PathGradient.
    """

    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        answer = yield PathGradient(tokens.ids, tokens.segments, target, rule=rule, where=where)
        return on_content(tokens, answer.gradient.sum(axis=1))

    made = _propagation(title, about=about, **facts)
    return made(converse)


lrp = relevance(
    "LRP",
    "(n,) relevance of words: gates count as weights (word-level models); attention weights and "
    "values, queries and "
    "keys share half and half, and normalisation is linear (transformers: AttnLRP). Biases keep "
    "their share.",
    LRP,
    name="lrp",
    source="Poerner et al. 2018, section 3.2; Achtibat et al. 2024 for transformers",
    order=25,
    in_papers={"poerner2018": (16, "lrp")},
)
lrp_cp = relevance(
    "CP-LRP",
    "(n,) relevance of words with attention weights and the statistics of normalisation as "
    "constants: all of it goes "
    "through the values.",
    CP_LRP,
    name="lrp_cp",
    source="Ali et al. 2022",
    order=27,
    families=("transformer",),
    lacking=_NO_ATTENTION,
)
gim = relevance(
    "GIM",
    "(n,) gradient times input, with the statistics of normalisation as constants, the gradient "
    "of a product halved, "
    "and that of the softmax as at twice the temperature; the released code takes a blank's "
    "embedding off the input.",
    GIM,
    name="gim",
    source="Edin et al. 2025b",
    order=28,
    families=("transformer",),
    lacking=_NO_ATTENTION,
)
deeplift = relevance(
    "DeepLIFT",
    "(n,) differences to zero embeddings, handed back by the rescale rule: everywhere in "
    "word-level models, in "
    "transformers where captum knows the nonlinearity, and elsewhere by plain gradients.",
    DEEPLIFT,
    name="deeplift",
    source="Poerner et al. 2018, section 3.3; captum for transformers",
    order=29,
    in_papers={"poerner2018": (17, "deeplift"), "zhao2023": (5, "DeepLift")},
    requires=("captum",),
    extra="captum",
)
deeplift_complete = relevance(
    "DeepLIFT (every layer)",
    "(n,) differences to zero embeddings, handed back by the rescale rule in every layer of a "
    "transformer: scores of "
    "all tokens sum to the difference of logits.",
    DEEPLIFT_COMPLETE,
    name="deeplift_complete",
    source="Shrikumar et al. 2017; ours for attention and normalisation",
    order=26,
    families=("transformer",),
    lacking="their `deeplift` holds in every layer",
)
deeplift_released = relevance(
    "DeepLIFT (released)",
    "(n,) the same as the released code of Zhao & Aletras (2023) has it: word embeddings enter "
    "the encoder without "
    "positions, types and normalisation.",
    DEEPLIFT,
    "bare",
    name="deeplift_released",
    source="Zhao & Aletras 2023, released code",
    order=40,
    families=("transformer",),
    lacking="the released code explains encoders, by captum",
    requires=("captum",),
    extra="captum",
)


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
    """(n,) parts of the class score less its bias (Murdoch & Szlam 2017; Poerner et al. 2018,
    section 3.4).
    """
    parts = yield CellParts(tokens.ids, tokens.segments, budget.decomposition_output_gate)
    return Scores(parts[tokens.content, target])
