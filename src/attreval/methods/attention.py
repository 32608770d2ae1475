"""Explanations by what transformers attend to.

Attention is that of the first token ([CLS], `<s>`) in the last encoder layer, mean over heads
(Serrano & Smith 2019; Jain et al. 2020; Zhao & Aletras 2023). Rollout (Abnar & Zuidema 2020) and
value zeroing (Mohebbi et al. 2023) ask no class: each layer has a matrix that says how much of
token j is in state i, and their product says so for the state that the class is read off, the first
token's. The most important head of the last encoder layer (Ray Choudhury et al. 2023) gives scores
of units, of pairs and of spans; layer-wise attention attribution (Hao et al. 2021; Ye et al. 2021)
gives scores of pairs and of spans.
Letters used for shapes: L tokens, n content tokens or units, S layers, H heads, m path nodes.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from attreval.core.alignment import divide
from attreval.core.records import Tokens
from attreval.core.units import Units, find_units, mean_matrix
from attreval.methods.integrated_gradients import gauss_legendre
from attreval.methods.method import (
    Budget,
    Rng,
    Scores,
    UnitSettings,
    join_notes,
    method,
    on_content,
)
from attreval.methods.spans import find_spans, pair_scores
from attreval.models.questions import AttentionPath, Conversation, HeadImportance, ValueZeroing

_attention = partial(method, kind="attention", signed=False, families=("transformer",))


def _ask_attention(tokens: Tokens, target: int) -> Conversation:
    """The first token's (L,) attention in the last layer and its (L,) gradient, means over heads.

    All three methods ask the same question, so the ledger answers two of them.
    """
    answer = yield AttentionPath(tokens.ids, tokens.segments, target, layers=(-1,), rows=(0,))
    weights = answer.attention[0, :, 0]
    gradient = answer.gradient[0, :, 0]
    return weights.mean(axis=0), gradient.mean(axis=0)


@_attention(
    "Attention",
    source="Zhao & Aletras 2023, section 4.3",
    evaluations="1",
    order=31,
    in_papers={"zhao2023": (1, "Attention")},
)
def attention(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights (Jain et al. 2020; Zhao & Aletras 2023, section 4.3)."""
    weights, _ = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights)


@_attention(
    "Scaled attention",
    source="Zhao & Aletras 2023, section 4.3",
    evaluations="1",
    order=32,
    signed=True,
    in_papers={"zhao2023": (2, "ScaledAttention")},
)
def scaled_attention(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights times the gradient of the class score (Serrano & Smith 2019)."""
    weights, gradient = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights * gradient)


@_attention(
    "Scaled attention (released)",
    source="Zhao & Aletras 2023, released code",
    evaluations="1",
    order=33,
)
def scaled_attention_squared(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights squared, which the released code of Zhao & Aletras (2023) computes."""
    weights, _ = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights * weights)


def roll_out(layers: Sequence[np.ndarray]) -> np.ndarray:
    """(L,) how much of each token is in the first token's last state.

    Args:
        layers: (S, L, L) non-negative mixings. Rows are brought to the sum 1; a row of zeros stays
            so.
    """
    first = np.eye(len(layers[0]))[0]
    for mixing in layers[::-1]:
        first = first @ divide(mixing, mixing.sum(axis=1, keepdims=True))
    return first


@_attention("Attention rollout", source="Abnar & Zuidema 2020", evaluations="1", order=34)
def attention_rollout(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) products of attention over layers, half of which goes past it; mean over heads."""
    answer = yield AttentionPath(
        tokens.ids, tokens.segments, target, nodes=(), weights=(), summary=True
    )
    layers = answer.attention.mean(axis=1) + np.eye(len(tokens))
    return on_content(tokens, roll_out(layers))


@_attention(
    "Value zeroing",
    source="Mohebbi et al. 2023",
    evaluations="L",
    cost=lambda length, content, budget, layers=1: length,
    order=35,
)
def value_zeroing(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) how much states change when a token's value is zero, multiplied over layers."""
    distances = yield ValueZeroing(tokens.ids, tokens.segments)
    return on_content(tokens, roll_out(distances))


_head = partial(_attention, evaluations="2")
_linked = partial(
    _attention,
    evaluations="layers x attention_steps to attention_steps_most, + layers + 1",
    cost=lambda length, content, budget, layers=1: (
        layers * (budget.units.attention_steps_most + 1) + 1
    ),
    limits=("units.attention_steps", "units.attention_steps_most"),
)


def choose_head(tokens: Tokens, target: int, settings: UnitSettings) -> Conversation:
    """The number of the head of the last encoder layer that matters most."""
    scores = yield HeadImportance(
        tokens.ids,
        tokens.segments,
        target,
        matrix=settings.head_matrix,
        state=settings.head_state,
        choice=settings.head_choice,
    )
    ranked = np.argsort(-scores, kind="stable")
    return int(ranked[settings.head_rank])


def _between_units(
    tokens: Tokens, matrix: np.ndarray, settings: UnitSettings
) -> tuple[Units, np.ndarray]:
    """The units, and an (n, n) matrix between them from an (L, L) matrix between tokens."""
    units = find_units(tokens, settings.unit)
    return units, mean_matrix(matrix, units, settings.subword_pairs)


def _ask_head(tokens: Tokens, target: int, budget: Budget) -> Conversation:
    """(L, L) attention weights, from token to token, of the head that matters most."""
    head = yield from choose_head(tokens, target, budget.units)
    answer = yield AttentionPath(
        tokens.ids, tokens.segments, target, layers=(-1,), nodes=(), weights=()
    )
    return answer.attention[0, head]


@_head(
    "Attention of the most important head",
    source="Jain & Wallace 2019; Ray Choudhury et al. 2023",
    order=47,
    in_papers={"sun2024": (5, "attention token")},
)
def attention_head(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) weights from the first token to each unit, a word's the mean of its pieces'."""
    weights = yield from _ask_head(tokens, target, budget)
    units = find_units(tokens, budget.units.unit)
    first = weights[0]
    means = np.array([first[list(group)].mean() for group in units.groups])
    return Scores(means, features=units.groups, special=tokens.special_share(first))


@_head(
    "Attention of the head, pairs",
    source="Clark et al. 2019",
    order=48,
    level="pair",
    in_papers={"sun2024": (6, "attention pair")},
)
def attention_head_pairs(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs: the mean of the weights in both directions (Clark et al. 2019)."""
    weights = yield from _ask_head(tokens, target, budget)
    return pair_scores(*_between_units(tokens, weights, budget.units))


@_head(
    "Attention of the head, spans",
    source="Sun et al. 2024, appendix D",
    order=49,
    level="span",
    stochastic=True,
    draws="attention_head",
    in_papers={"sun2024": (7, "attention span")},
)
def attention_head_spans(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs of spans from the weights of the head."""
    weights = yield from _ask_head(tokens, target, budget)
    units, between = _between_units(tokens, weights, budget.units)
    return find_spans(tokens, units, between, budget.units, rng)


def _ask_attribution(tokens: Tokens, target: int, budget: Budget) -> Conversation:
    """(L, L) attribution of the class probability to links of attention; its gap and note.

    For each layer apart, the gradient with respect to its weights is averaged while they grow from
    0 to their own size, and multiplied by them; then layers and heads are summed and what is below
    0 is cut off. A layer's attributions must sum to what its attention adds to the probability: the
    number of nodes is doubled until they do.
    """
    settings = budget.units
    steps = settings.attention_steps
    while True:
        if settings.attention_rule == "gauss":
            nodes, weights = gauss_legendre(steps)
        else:
            nodes = tuple(s / steps for s in range(steps))
            weights = (1 / steps,) * steps
        nodes += (0.0, 1.0)  # the ends have no share in the sum, but in its check
        weights += (0.0, 0.0)
        answer = yield AttentionPath(
            tokens.ids, tokens.segments, target, nodes=nodes, weights=weights, of="probability"
        )
        linked = answer.attention * answer.gradient
        owed = answer.values[:, -1] - answer.values[:, -2]
        gaps = linked.sum(axis=(1, 2, 3)) - owed
        gap = float(gaps[np.abs(gaps).argmax()])
        met = abs(gap) <= settings.attention_tolerance
        if met or 2 * steps > settings.attention_steps_most:
            break
        steps *= 2
    note = (
        ""
        if met
        else f"not converged with {steps} nodes: a layer misses {abs(gap):.2g} of the probability"
    )
    total = linked.sum(axis=(0, 1))
    if settings.attention_clip:
        total = np.maximum(total, 0)
    return total, {"gap": gap, "note": note}


@_linked(
    "Attention attribution",
    source="Hao et al. 2021; Ye et al. 2021",
    order=50,
    level="pair",
    in_papers={"sun2024": (10, "gradients pair")},
)
def attention_attribution(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs: the mean of the attribution in both directions.

    The gap is the largest of a layer.
    """
    matrix, facts = yield from _ask_attribution(tokens, target, budget)
    found = pair_scores(*_between_units(tokens, matrix, budget.units))
    return replace(found, **facts)


@_linked(
    "Attention attribution, spans",
    source="Sun et al. 2024, appendix D",
    order=51,
    level="span",
    stochastic=True,
    draws="attention_attribution",
    in_papers={"sun2024": (11, "gradients span")},
)
def attention_attribution_spans(
    tokens: Tokens, target: int, budget: Budget, rng: Rng
) -> Conversation:
    """Scores of pairs of spans from the attribution to links of attention."""
    matrix, facts = yield from _ask_attribution(tokens, target, budget)
    units, between = _between_units(tokens, matrix, budget.units)
    found = find_spans(tokens, units, between, budget.units, rng)
    return replace(found, gap=facts["gap"], note=join_notes(facts["note"], found.note))
