"""Sets of erased tokens: each alone, random ones, parts of an explanation, or written anew.

- Each token alone costs n evaluations a text, once for all methods, and so do SETS random sets.
- F-Fidelity (Zheng et al. 2025): erasing all that an explanation holds makes a text that the model
  has never seen. So of the s highest-scored tokens only a random half goes, and at most a tenth of
  the text (at least one token); likewise of the others. The paper averages over sizes s, and
  fine-tunes the model on texts that lost random tokens. That belongs to the model and is not done
  here: given a model that was trained so (`models.training.mask_half`), this is F-Fidelity; of
  another model it is random removal with a bound, without the fine-tuning. The half, the tenth and
  the sizes are ours. 50 evaluations a method each.
- Written anew: Kamahi & Yaghoobzadeh (2024) take counterfactuals from a generator that was trained
  to change the prediction; here the infiller changes words without an aim, and what it writes stays
  in the distribution of texts. A text's `infill` writes it, see `models.infilling`; without one
  there is no value. REWRITTEN rows a size and method for each metric.
Letters used for shapes: L tokens, n tokens that may be erased, m sets or texts, r ratios.
"""

from functools import partial

import numpy as np

from attreval.core.seeds import Rng, generator
from attreval.metrics.dynamic_k import select
from attreval.metrics.erasure import rationale_sizes
from attreval.metrics.scored_text import ScoredText, to_scale
from attreval.metrics.walk import (
    FLAT,
    ask_walk,
    correlate,
    erasable_scores,
    erasing_order,
    layout_of,
    left_once,
    named,
)
from attreval.models.questions import Conversation, Evaluate

SETS = 50  # random sets of a text, the same for all methods
SHARE = 0.2  # of the tokens, in each set of the correlation
SIZES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the explanation, as shares of the text
PART = 0.5  # of what an explanation holds, or does not hold: what goes at most
BOUND = 0.1  # of the text: the same
DRAWS = 10  # texts of each size
REWRITTEN = 4  # infilled texts of each size

_signed = partial(named, range=(-1.0, 1.0))
_fidelity = partial(_signed, source="Zheng et al. 2025, section 3")
_infilled = partial(
    _signed,
    source="after Kamahi & Yaghoobzadeh 2024; DeYoung et al. 2020",
    needs=("scores", "model", "infill"),
)


def draw_sets(text: ScoredText, share: float | None) -> np.ndarray:
    """(m, n) bool sets of a share of the tokens, rounded up; None draws a number for each set."""
    n = int(layout_of(text).erasable.sum())
    rng = generator("sets", text.instance.id, share, *text.names)
    if share is None:
        sizes = rng.integers(1, n + 1, SETS)
    else:
        sizes = np.full(SETS, rationale_sizes(n, [share])[0])
    ranks = rng.random((SETS, n)).argsort(axis=1).argsort(axis=1)
    return ranks < sizes[:, None]


def _ask_sets(text: ScoredText, method: str, share: float | None) -> Conversation:
    """(m,) sums of a method's scores over random sets, and falls of the probability."""
    sets = draw_sets(text, share)
    left = yield from left_once(text, ("sets", share), sets)
    return sets @ erasable_scores(text, method), left.drops


@_signed(
    "Faithfulness correlation",
    source="Bhatt et al. 2020, definition 1",
    higher_is_better=True,
    order=90,
)
def faithfulness_correlation(text: ScoredText, method: str) -> Conversation:
    """How far what random sets of tokens score together follows what their erasure takes from the
    class's probability.

    Pearson's correlation over sets of a fifth of the tokens; NaN where all sets do the same.
    """
    sums, drops = yield from _ask_sets(text, method, SHARE)
    return correlate(sums, drops)


@named("Infidelity", source="Yeh et al. 2019, definition 2.1", higher_is_better=False, order=91)
def infidelity(text: ScoredText, method: str) -> Conversation:
    """Mean squared difference of what a random set of tokens scores and what its erasure takes from
    the probability.

    Scores are brought to the scale of probabilities by the factor that makes the difference least,
    as in the authors' code, but one of 0 or more: with theirs a reversed explanation fares as well
    as the explanation. All scores being equal they still tell how many tokens a set has, which
    random ones do not: this is no constant of chance.
    """
    sums, drops = yield from _ask_sets(text, method, None)
    sums = to_scale(sums)
    power = (sums**2).mean()
    factor = max(0.0, (sums * drops).mean() / power) if power > 0 else 0.0
    return float(((factor * sums - drops) ** 2).mean())


def _ask_singles(text: ScoredText) -> Conversation:
    """Erase each token alone: returns Left, of n texts."""
    singles = np.eye(int(layout_of(text).erasable.sum()), dtype=bool)
    return left_once(text, "single tokens", singles)


@_signed(
    "Faithfulness estimate",
    source="Alvarez-Melis & Jaakkola 2018, section 4.2",
    higher_is_better=True,
    order=92,
)
def faithfulness_estimate(text: ScoredText, method: str) -> Conversation:
    """How far scores follow what each token alone takes from the class's probability (Pearson's
    correlation).

    NaN where all tokens take the same.
    """
    left = yield from _ask_singles(text)
    return correlate(erasable_scores(text, method), left.drops)


@_signed(
    "Monotonicity (ranks)",
    source="Nguyen & Martínez 2020, section 3.2",
    higher_is_better=True,
    order=93,
    blind="it looks at sizes alone: scores of the opposite sign fare as well",
)
def monotonicity_ranks(text: ScoredText, method: str) -> Conversation:
    """How far the sizes of scores rank tokens as the squared changes of the probability do when
    each is erased alone.

    The paper's expectation over other values of a feature is taken at one, the erased token;
    squares rank as sizes do.
    """
    left = yield from _ask_singles(text)
    return correlate(np.abs(erasable_scores(text, method)), np.abs(left.drops), ranks=True)


@named(
    "Monotonicity",
    source="Arya et al. 2019; Luss et al. 2019",
    higher_is_better=True,
    order=94,
    blind="tokens against the class, which come back first, let the probability fall under the "
    "true explanation",
)
def monotonicity(text: ScoredText, method: str) -> Conversation:
    """At which share of steps the probability does not fall while tokens come back, the
    lowest-scored first.

    The papers ask whether it never falls; the share tells more of one text. It is read off the walk
    of deletion.
    """
    walk = yield from ask_walk(text, method, deleting=True)
    return np.mean(walk.p[:-1] - walk.p[1:] >= -FLAT)


def draw_lost(order: np.ndarray, inside: bool, rng: Rng) -> np.ndarray:
    """(m, n) bool random sets of tokens to erase.

    Args:
        order: (n,) places by falling score.
        inside: draw among the first of the order, else among all but those. A size that leaves none
            to choose from has no set.
        rng: draws them.
    """
    n = len(order)
    lost = []
    for size in rationale_sizes(n, SIZES):
        pool = order[:size] if inside else order[size:]
        if len(pool):
            count = max(1, int(min(PART * len(pool), BOUND * n)))
            lost += [select(rng.choice(pool, count, replace=False), n) for _ in range(DRAWS)]
    return np.array(lost, dtype=bool).reshape(-1, n)


def _ask_lost(text: ScoredText, method: str, inside: bool) -> Conversation:
    """The mean fall of the probability; NaN where nothing could go."""
    rng = generator("f_fidelity", inside, *text.names_of(method))
    lost = draw_lost(erasing_order(text, method), inside, rng)
    if not len(lost):
        return np.nan
    left = yield from left_once(text, ("lost", method, inside), lost)
    return left.drops.mean()


@_fidelity("F-Fidelity+", higher_is_better=True, order=95)
def f_fidelity_plus(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls when some of the highest-scored tokens go at random."""
    return _ask_lost(text, method, inside=True)


@_fidelity("F-Fidelity-", higher_is_better=False, order=96)
def f_fidelity_minus(text: ScoredText, method: str) -> Conversation:
    """How far it falls when some of the other tokens go at random."""
    return _ask_lost(text, method, inside=False)


def _ask_infilled(text: ScoredText, method: str, without: bool) -> Conversation:
    """The mean fall over the protocol's sizes of the rationale.

    It is written anew, or else all but it. The explained class is the one predicted on the whole
    text.
    """
    if text.infill is None:
        return np.nan
    order = erasing_order(text, method)
    sizes = np.repeat(rationale_sizes(len(order), text.settings.protocol.ratios), REWRITTEN)
    chosen = np.argsort(order)[None] < sizes[:, None]  # (r * REWRITTEN, n)
    kept = np.ones((len(chosen), len(text.tokens)), dtype=bool)
    kept[:, layout_of(text).erasable] = ~chosen if without else chosen
    rows = np.concatenate([text.tokens.ids[None], text.infill(text.tokens, kept)])
    logits = yield Evaluate(rows, text.tokens.segments)
    p = text.settings.protocol.follow(logits)
    return p[0] - p[1:].mean()


@_infilled("Comprehensiveness (infilled)", higher_is_better=True, order=103)
def infilled_comprehensiveness(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls when the top tokens are written anew, mean over sizes
    of the rationale.
    """
    return _ask_infilled(text, method, without=True)


@_infilled("Sufficiency (infilled)", higher_is_better=False, order=104)
def infilled_sufficiency(text: ScoredText, method: str) -> Conversation:
    """How far it falls when all but the top tokens are written anew, mean over sizes of the
    rationale.
    """
    return _ask_infilled(text, method, without=False)
