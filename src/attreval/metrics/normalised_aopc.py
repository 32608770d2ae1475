"""Normalised AOPC: comprehensiveness and sufficiency between the limits that a text allows.

The area over the perturbation curve is the mean over sizes of the rationale. On one text some order
of its tokens reaches the least area and another the greatest; both depend on the model, so raw
areas of two models do not compare. Here both limits are found, exactly for short texts, else by
beam search, and areas are placed between them (Edin et al. 2025, Normalized AOPC). With ratios 1/n,
2/n ... 1 the sizes are those of that paper. Letters used for shapes: L tokens, n tokens that can be
erased, W beams, r ratios.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from attreval.core.records import Tokens
from attreval.core.seeds import Rng
from attreval.core.units import all_coalitions
from attreval.metrics.erasure import (
    ask_erased,
    ask_hard,
    erase,
    faithfulness,
    fit_scores,
    rank_tokens,
    rationale_sizes,
)
from attreval.metrics.protocol import Protocol, find_layout
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import layout_of
from attreval.models.questions import Conversation

Ask = Callable[[np.ndarray, np.ndarray], Conversation]
MEASURES = ("comprehensiveness", "sufficiency")
BEAM = 5
EXACT = 10
LEAST_RANGE = 1e-8  # closer limits leave nothing to be told


@dataclass(frozen=True)
class Limits:
    """The (2,) least and greatest area of any order of a text's tokens.

    exact: all orders were compared.
    """

    comprehensiveness: np.ndarray
    sufficiency: np.ndarray
    exact: bool

    def place(self, measure: str, area: float) -> float:
        """An area as a share of the way from the least to the greatest; NaN where they are one."""
        least, greatest = getattr(self, measure)
        width = greatest - least
        return float((area - least) / width) if width > LEAST_RANGE else np.nan


def areas_in_limits(
    tokens: Tokens,
    scores: Sequence[np.ndarray],
    rngs: Sequence[Rng],
    protocol: Protocol,
    query: int | None,
) -> Conversation:
    """The conversation that gives a text's Limits, and the (m, 2) areas of m attributions.

    Args:
        tokens: the text.
        scores: (n,) of each attribution.
        rngs: break the ties of each.
        protocol: of erasure.
        query: see protocol.find_layout.
    """
    layout = find_layout(tokens, protocol, query)
    orders = [
        rank_tokens(fit_scores(tokens, layout, given), rng)
        for given, rng in zip(scores, rngs, strict=True)
    ]
    limits = yield from find_limits(tokens, protocol, query, orders=orders)
    areas = []
    for order in orders:
        hard = yield from erase(tokens, -np.argsort(order), None, None, protocol, query)
        areas.append([getattr(hard, measure).mean() for measure in MEASURES])
    return limits, np.array(areas)


def find_limits(
    tokens: Tokens,
    protocol: Protocol = Protocol(),  # noqa: B008 - frozen
    query: int | None = None,
    beam: int = BEAM,
    exact: int = EXACT,
    orders: Sequence[np.ndarray] = (),
) -> Conversation:
    """The conversation that finds the Limits of one text, for the class that the model predicts.

    Args:
        tokens: the text.
        protocol: of erasure.
        query: see protocol.find_layout.
        beam: W orders that are followed at a time.
        exact: up to so many tokens, every order is compared instead.
        orders: of explanations, (n,) places among the tokens that the layout scores, the first to
            be erased at first; what they reach counts for the limits, so that none lies outside.

    Raises:
        ValueError: less than one beam.
    """
    if beam < 1:
        raise ValueError(f"a beam search follows at least one order; got beam={beam}")
    layout = find_layout(tokens, protocol, query)
    n = len(layout.scored)
    sizes = np.minimum(rationale_sizes(layout.size, protocol.ratios), n)
    # (n + 1,) of each size's value in the area
    weights = np.bincount(sizes, minlength=n + 1) / len(sizes)

    def ask(without: np.ndarray, only: np.ndarray) -> Conversation:
        """(m, 2) falls where (m, n) rationales are erased, and where others alone stay."""
        gone = np.zeros((2 * len(without), len(tokens)), dtype=bool)
        gone[:, layout.scored] = np.concatenate([without, ~only])
        gone &= layout.erasable
        gone[: len(without)] |= layout.beside
        logits = yield from ask_erased(tokens, gone, protocol.erased)
        p = protocol.follow(logits)
        return (p[0] - p[1:]).reshape(2, -1).T

    if n <= exact:
        found = yield from _every_order(ask, weights)
        return Limits(found[0], found[1], exact=True)
    found = yield from _beam_search(ask, weights, beam)
    looked_at = np.unique(sizes)
    for order in orders:
        prefixes = np.argsort(order) < looked_at[:, None]
        falls = yield from ask(prefixes, prefixes)
        areas = weights[looked_at] @ falls
        found = np.stack([np.minimum(found[:, 0], areas), np.maximum(found[:, 1], areas)], axis=1)
    return Limits(found[0], found[1], exact=False)


def _every_order(ask: Ask, weights: np.ndarray) -> Conversation:
    """(2, 2) least and greatest area of each measure over all n! orders, set by set."""
    n = len(weights) - 1
    sets = all_coalitions(n)
    sizes = sets.sum(axis=1)
    counted = weights[sizes] > 0
    values = np.zeros((len(sets), 2))
    values[counted] = yield from ask(sets[counted], sets[counted])
    signs = [-1, 1, -1, 1]  # the least is found as a greatest
    gains = np.repeat(values * weights[sizes][:, None], 2, axis=1) * signs
    best = np.full(gains.shape, -np.inf)
    best[0] = 0
    for size in range(1, n + 1):
        into = np.flatnonzero(sizes == size)
        for token in range(n):
            last = into[sets[into, token]]  # the rationales whose last token this can be
            best[last] = np.maximum(best[last], best[last - 2**token] + gains[last])
    return best[-1].reshape(2, 2) * [-1, 1]


def _beam_search(ask: Ask, weights: np.ndarray, beam: int) -> Conversation:
    """(2, 2) least and greatest area of each measure that four searches of `beam` orders reach.

    A rationale grows by a token at a time. Those are followed whose area would be best if their
    value stood still.
    """
    n = len(weights) - 1
    goals = list(product((0, 1), (-1, 1)))  # measure, sign
    kept = dict.fromkeys(goals, Beam(np.zeros((1, n), dtype=bool), np.zeros(1)))
    for size in range(1, int(np.flatnonzero(weights).max()) + 1):
        grown = {goal: _grow(kept[goal], goal[1]) for goal in goals}
        sides = [np.concatenate([grown[m, -1].sets, grown[m, 1].sets]) for m in (0, 1)]
        most = max(map(len, sides))
        # the shorter side is filled up with what is asked already
        padded = [side[np.arange(most) % len(side)] for side in sides]
        values = yield from ask(*padded)
        rest = weights[size + 1 :].sum()
        for (measure, sign), (sets, areas) in grown.items():
            start = 0 if sign < 0 else len(grown[measure, -1].sets)
            value = values[start : start + len(sets), measure]
            reached = areas + weights[size] * value
            best = np.argsort(-sign * (reached + rest * value), kind="stable")[:beam]
            kept[measure, sign] = Beam(sets[best], reached[best])
    return np.array([beam.areas[0] for beam in kept.values()]).reshape(2, 2)


class Beam(NamedTuple):
    """(W, n) rationales, and (W,) their areas so far."""

    sets: np.ndarray
    areas: np.ndarray


def _grow(kept: Beam, sign: int) -> Beam:
    """Every set that is one token larger, once, with the best area on the way to it."""
    at, token = np.nonzero(~kept.sets)
    larger = kept.sets[at]
    larger[np.arange(len(at)), token] = True
    areas = kept.areas[at]
    order = np.argsort(-sign * areas, kind="stable")
    _, first = np.unique(np.packbits(larger[order], axis=1), axis=0, return_index=True)
    return Beam(larger[order][first], areas[order][first])


def ask_share(text: ScoredText, method: str, measure: str) -> Conversation:
    """The conversation that places a method's area between the limits of its text."""
    settings = text.settings
    layout = layout_of(text)
    orders = []
    for name, scores in text.scores.items():
        fitted = fit_scores(text.tokens, layout, scores)
        orders.append(rank_tokens(fitted, text.ties_of(name)))
    talk = find_limits(text.tokens, settings.protocol, settings.query, settings.beam, orders=orders)
    limits = yield from text.once(("limits",), talk)
    hard = yield from ask_hard(text, method)
    placed = limits.place(measure, getattr(hard, measure).mean())
    return np.clip(placed, 0, 1)  # outside by rounding alone


naopc = partial(faithfulness, source="Edin et al. 2025", by_name=True)


@naopc("Comprehensiveness (NAOPC)", higher_is_better=True, order=33)
def naopc_comprehensiveness(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls when the top tokens are erased, between its least and
    its greatest for any order.
    """
    return ask_share(text, method, "comprehensiveness")


@naopc("Sufficiency (NAOPC)", higher_is_better=False, order=34)
def naopc_sufficiency(text: ScoredText, method: str) -> Conversation:
    """How far it falls when only the top tokens stay, between its least and its greatest for any
    order.
    """
    return ask_share(text, method, "sufficiency")
