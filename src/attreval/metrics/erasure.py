"""Hard erasure of rationales: comprehensiveness, sufficiency, and their normalised forms.

A rationale is the ceil(ratio * n) highest-scored of the n tokens that may be erased.
Comprehensiveness erases it, sufficiency erases all others; special tokens and the query of a
two-part text stay. Erased ids become the padding token, in place and still attended (Zhao & Aletras
2023, section 3; their released code takes the first id of the vocabulary, which is BERT's padding;
DeYoung et al. 2020 for the two measures). Letters used for shapes: L tokens, n content tokens, r
ratios, K classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
from scipy.stats import rankdata

from attreval.core.records import Tokens
from attreval.core.seeds import Rng
from attreval.metrics.metric import metric
from attreval.metrics.protocol import Layout, Protocol, find_layout
from attreval.metrics.scored_text import ScoredText, finite
from attreval.models.outputs import PROBABILITIES
from attreval.models.questions import Conversation, Evaluate, SoftErasure

BASELINE_MARGIN = 1e-4  # what the released code takes off the zero-baseline sufficiency
LEAST_ROOM = 1e-8  # below it the erased text is as sure as the whole one, and nothing can be told
SOURCE = "DeYoung et al. 2020; Zhao & Aletras 2023, section 3.1"
faithfulness = partial(metric, judge="faithfulness", needs=("scores", "model"))
_drop = partial(faithfulness, source=SOURCE, range=(-1.0, 1.0), planted=False)
_share = partial(faithfulness, higher_is_better=True, joint=True, outputs=PROBABILITIES)


@dataclass(frozen=True)
class Erasure:
    """(r,) measures at each ratio, and the class's probability on the whole and the erased text.

    Their means over ratios are the areas over the perturbation curve: NC and NS. comprehensiveness
    and sufficiency are differences of probabilities; the normalised forms lie in [0, 1], where 1 is
    most faithful for both. target: the explained class.
    """

    ratios: tuple[float, ...]
    comprehensiveness: np.ndarray
    sufficiency: np.ndarray
    normalised_comprehensiveness: np.ndarray
    normalised_sufficiency: np.ndarray
    full: float
    erased: float
    target: int


def rank_tokens(scores: np.ndarray, rng: Rng | None = None) -> np.ndarray:
    """(n,) indices by falling score; ties at random, or the lowest index first without rng."""
    scores = finite(scores)
    tie = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    return np.lexsort((tie, -scores))


def rank_shares(scores: np.ndarray) -> np.ndarray:
    """(n,) ranks from 0, the lowest score, to 1, equal ones sharing their mean; 1/2 for one."""
    scores = finite(scores)
    if len(scores) < 2:
        return np.full(len(scores), 0.5)
    return (rankdata(scores) - 1) / (len(scores) - 1)


def rationale_sizes(n: int, ratios: Sequence[float]) -> list[int]:
    """How many of n tokens each ratio selects: rounded up, at least one."""
    # rounding guards against 0.14 * 50 = 7.000000000000001, whose ceiling is 8
    return [max(1, ceil(round(ratio * n, 9))) for ratio in ratios]


def erase(
    tokens: Tokens,
    scores: np.ndarray,
    ratios: Sequence[float] | None = None,
    rng: Rng | None = None,
    protocol: Protocol = Protocol(),  # noqa: B008 - frozen
    query: int | None = None,
    calls: int = 0,
) -> Conversation:
    """The conversation that erases rationales of one attribution: returns an Erasure.

    The explained class is the one predicted on the whole text.

    Args:
        tokens: the text.
        scores: (n,) over content tokens (those of the query are not looked at), or over the tokens
            that the layout scores.
        ratios: None takes the protocol's.
        rng: breaks ties.
        protocol: of erasure.
        query: see protocol.find_layout.
        calls: numbers computed before on this text, for the drift.

    Raises:
        ValueError: other shapes.
    """
    ratios = tuple(ratios or protocol.ratios)
    layout = find_layout(tokens, protocol, query)
    order = layout.scored[rank_tokens(fit_scores(tokens, layout, scores), rng)]
    sizes = rationale_sizes(layout.size, ratios)
    place = np.full(len(tokens), len(tokens))  # in the order; beyond all sizes without a score
    place[order] = np.arange(len(order))
    chosen = (place < np.array(sizes)[:, None]) & layout.erasable  # (r, L)
    gone = np.concatenate([layout.base[None], chosen | layout.beside, layout.erasable & ~chosen])
    logits = yield from ask_erased(tokens, gone, protocol.erased)
    target = int(logits[0].argmax())
    p = protocol.follow(logits)
    full, erased = p[:2]
    without, only = np.split(p[2:], 2)
    comprehensiveness = full - without
    sufficiency = full - only
    if protocol.clipped:
        drifted = calls + np.arange(len(ratios)) if protocol.drift else 0
        nc = normalised_comprehensiveness(full, erased, without, drifted)
        ns = normalised_sufficiency(full, erased, only, drifted)
    else:
        nc = comprehensiveness
        ns = 1 - sufficiency
    return Erasure(
        ratios, comprehensiveness, sufficiency, nc, ns, float(full), float(erased), target
    )


def fit_scores(tokens: Tokens, layout: Layout, scores: np.ndarray) -> np.ndarray:
    """The scores of the tokens that a layout scores, from those of all content tokens.

    ValueError for other shapes.
    """
    if len(scores) == len(layout.scored):
        return np.asarray(scores, dtype=float)
    content = tokens.content
    if tokens.special[layout.scored].any():
        raise ValueError(
            f"got {len(scores)} scores; with the separator among them {len(layout.scored)} are "
            "needed"
        )
    if len(scores) != len(content):
        raise ValueError(
            f"got {len(scores)} scores for {len(content)} content tokens; special tokens take none"
        )
    return np.asarray(scores, dtype=float)[np.isin(content, layout.scored)]


def ask_erased(tokens: Tokens, gone: np.ndarray, erased: str) -> Conversation:
    """Ask for the (1 + m, K) logits of the text and of it with the (m, L) tokens gone."""
    if erased == "vector":
        whole = yield Evaluate(tokens.ids[None], tokens.segments)
        part = yield SoftErasure(tokens.ids, tokens.segments, 1.0 - gone, (0,) * len(gone))
        return np.concatenate([whole, part])
    put = {"first": 0, "pad": tokens.pad_id, "mask": tokens.mask_id}[erased]
    rows = np.concatenate([tokens.ids[None], np.where(gone, put, tokens.ids)])
    return (yield Evaluate(rows, tokens.segments))


def normalised_comprehensiveness(
    full: float, erased: float, left: np.ndarray, drifted: np.ndarray | int = 0
) -> np.ndarray:
    """NC: comprehensiveness in [0, 1] after erasure (eq. 2 and 5); 0 where nothing can be told.

    Args:
        full: the class's probability on the whole text.
        erased: on the text that is erased whole.
        left: (r,) without each rationale.
        drifted: numbers computed before, by which the released code's baseline drifts.
    """
    room = min(1.0, max(0.0, full - erased)) + BASELINE_MARGIN * np.asarray(drifted)
    drop = np.maximum(0, full - left)
    return np.where(room >= LEAST_ROOM, np.clip(drop / np.maximum(room, LEAST_ROOM), 0, 1), 0.0)


def normalised_sufficiency(
    full: float, erased: float, left: np.ndarray, drifted: np.ndarray | int = 0
) -> np.ndarray:
    """NS: sufficiency in [0, 1] of what is left (eq. 1 and 4); the arguments are those of NC."""
    floor = 1 - max(0.0, full - erased) - BASELINE_MARGIN * (1 + np.asarray(drifted))
    rest = 1 - np.maximum(0, full - left)
    return np.clip((rest - floor) / (1 - floor), 0, 1)


def ask_hard(
    text: ScoredText, method: str, ratios: tuple[float, ...] | None = None
) -> Conversation:
    """The conversation that erases one method's rationales, once a text: returns an Erasure."""
    settings = text.settings
    ties = text.ties_of(method)
    talk = erase(text.tokens, text.scores[method], ratios, ties, settings.protocol, settings.query)
    return text.once(("hard", method, *(ratios or ())), talk)


def ask_ends(text: ScoredText, method: str) -> Conversation:
    """The same for the whole and the erased text alone: at one ratio, unless all are known."""
    return ask_hard(text, method, None if ("hard", method) in text.found else (1.0,))


def predicted_class(text: ScoredText) -> int | None:
    """The class that the model predicts, known once a text was erased; None before."""
    return next((one.target for one in text.found.values() if isinstance(one, Erasure)), None)


@_drop("Comprehensiveness", higher_is_better=True, order=31, stored="comprehensiveness")
def comprehensiveness(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls when the top tokens are erased, mean over sizes of the
    rationale.
    """
    return (yield from ask_hard(text, method)).comprehensiveness.mean()


@_drop("Sufficiency", higher_is_better=False, order=32, stored="sufficiency")
def sufficiency(text: ScoredText, method: str) -> Conversation:
    """How far it falls when only the top tokens stay, mean over sizes of the rationale."""
    return (yield from ask_hard(text, method)).sufficiency.mean()


@_share(
    "NC",
    source=f"{SOURCE}, eq. 2",
    order=35,
    stored="normalised_comprehensiveness",
    also=("normalised_comprehensiveness",),
)
def nc(text: ScoredText, method: str) -> Conversation:
    """Normalised comprehensiveness: comprehensiveness between 0 and 1, where 1 is what erasing the
    whole text does.
    """
    return (yield from ask_hard(text, method)).normalised_comprehensiveness.mean()


@_share(
    "NS",
    source=f"{SOURCE}, eq. 1",
    order=36,
    stored="normalised_sufficiency",
    also=("normalised_sufficiency",),
)
def ns(text: ScoredText, method: str) -> Conversation:
    """Normalised sufficiency: sufficiency between 0 and 1, where 0 is what erasing the whole text
    leaves.
    """
    return (yield from ask_hard(text, method)).normalised_sufficiency.mean()
