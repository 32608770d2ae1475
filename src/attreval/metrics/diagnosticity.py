"""Diagnosticity: how often a metric prefers an explanation to random scores (Zhao & Aletras 2023,
section 4.5).

Diagnosticity is the share of pairs (an explanation, random scores for the same text) in which the
explanation wins. A tie is a loss, as the published values far below one half imply; counted as half
a win, chance is exactly one half. Letters used for shapes: p pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from attreval.metrics.metric import Metric, metric
from attreval.metrics.protocol import Protocol
from attreval.metrics.scored_text import ScoredText
from attreval.models.outputs import PROBABILITIES
from attreval.models.questions import Conversation

SOURCE = "Zhao & Aletras 2023, section 4.5"
OF_A_TIE = {"lose": 0.0, "half": 0.5, "win": 1.0}
_wins = partial(
    metric,
    judge="faithfulness",
    source=SOURCE,
    needs=("scores", "model", "random"),
    outputs=PROBABILITIES,
    higher_is_better=True,
)


def wins(own: np.ndarray, rival: np.ndarray, protocol: Protocol = Protocol()) -> np.ndarray:  # noqa: B008 - frozen
    """(p,) 1 where an explanation beats its rival, 0 where it does not, and what the protocol gives
    for a tie.

    Their mean is diagnosticity (eq. 6). own, rival: values of one metric, higher being better. A
    win takes a lead of `margin` at least; less in either direction is a tie. ValueError for values
    that are NaN.
    """
    lead = np.asarray(own, dtype=float) - np.asarray(rival, dtype=float)
    if np.isnan(lead).any():
        raise ValueError(
            f"pairs need two numbers each; {int(np.isnan(lead).sum())} of {lead.size} have NaN"
        )
    if protocol.margin == 0:
        won = lead > 0
        lost = lead < 0
    else:
        won = lead >= protocol.margin  # the released code's `u >= v + margin`
        lost = lead <= -protocol.margin
    return np.select([won, lost], [1.0, 0.0], OF_A_TIE[protocol.ties])


def tied(own: np.ndarray, rival: np.ndarray, protocol: Protocol) -> np.ndarray:
    """(p,) bool, the pairs that are ties by a protocol's margin."""
    return wins(own, rival, replace(protocol, ties="half")) == 0.5


@dataclass(frozen=True)
class Comparison:
    """Does a soft measure win more often than its hard counterpart on the same pairs?

    rank_sum: p of the two-sided Wilcoxon rank-sum test, which the paper names, on the win
    indicators. paired: p of the exact McNemar test, which knows that pairs are matched; NaN where
    ties count half. Both take pairs as independent, though the methods of one text share it and its
    random scores: see `sign_flip_test`.
    """

    pairs: int
    difference: float
    rank_sum: float
    paired: float


def compare(soft: np.ndarray, hard: np.ndarray) -> Comparison:
    """Compare (p,) win indicators of two measures on the same pairs. ValueError for no pair or
    unequal numbers.
    """
    from scipy.stats import binomtest, ranksums

    soft = np.asarray(soft, float)
    hard = np.asarray(hard, float)
    if len(soft) != len(hard) or not len(soft):
        raise ValueError(f"the same pairs are compared; got {len(soft)} and {len(hard)}")
    paired = np.nan
    if np.isin(np.concatenate([soft, hard]), (0, 1)).all():
        apart = int((soft != hard).sum())
        paired = float(binomtest(int((soft > hard).sum()), apart).pvalue) if apart else 1.0
    difference = float(soft.mean() - hard.mean())
    return Comparison(len(soft), difference, float(ranksums(soft, hard).pvalue), paired)


def sign_flip_test(
    differences: Sequence[np.ndarray], rng: np.random.Generator, draws: int = 9999
) -> float:
    """p of the two-sided test that the mean over groups of means over texts is 0; texts are the
    units.

    differences: for each group (task) the (n,) differences of its texts, each the mean over all
    pairs of a text: methods that share a text and its random scores go up and down together. Under
    the hypothesis signs are a coin's.
    """
    groups = [np.asarray(values, dtype=float) for values in differences if len(values)]
    if not groups:
        raise ValueError("a test needs the differences of one text at least; got none")
    weighted = np.concatenate([values / len(values) / len(groups) for values in groups])
    found = abs(weighted.sum())
    together = max(1, 4_000_000 // len(weighted))
    more = 0
    for done in range(0, draws, together):
        rows = min(draws - done, together)
        signs = 2.0 * rng.integers(0, 2, (rows, len(weighted)), dtype=np.int8) - 1
        more += int((np.abs(signs @ weighted) >= found - 1e-12).sum())
    return (1 + more) / (1 + draws)


def ask_wins(text: ScoredText, method: str, compared: Sequence[str]) -> Conversation:
    """The conversation that returns in which share of metrics a method beats random scores; NaN
    where one has no value.

    compared: names of METRICS, higher being better.
    """
    from attreval.metrics import METRICS

    values = []
    for one in (method, "random"):
        for name in compared:
            value = yield from METRICS[name].ask(text, one)
            values.append(value)
    if np.isnan(values).any():
        return np.nan
    own, rival = np.split(np.array(values), 2)
    return wins(own, rival, text.settings.protocol).mean()


@_wins("Diagnosticity", order=45, joint=True, disturbs=True)
def diagnosticity(text: ScoredText, method: str) -> Conversation:
    """The share of pairs (an explanation, random scores for the same text) in which the explanation
    wins.
    """
    return ask_wins(text, method, text.settings.compared)


def _win(compared: str, title: str, about: str, order: int) -> Metric:
    """Whether a method beats random scores by one metric; its mean is diagnosticity."""
    name = f"win_{compared}"
    soft = compared.startswith("soft")
    title = f"Beats random scores by {title}"

    def ask(text: ScoredText, method: str) -> Conversation:
        return ask_wins(text, method, (compared,))

    return _wins(
        title, name=name, about=about, order=order, stored=name, disturbs=soft, planted=False
    )(ask)


win_nc = _win(
    "nc",
    "NC",
    "1 where the method's NC is above that of random scores; its mean is diagnosticity.",
    41,
)
win_soft_nc = _win("soft_nc", "Soft-NC", "The same by Soft-NC.", 42)
win_ns = _win("ns", "NS", "The same by NS.", 43)
win_soft_ns = _win("soft_ns", "Soft-NS", "The same by Soft-NS.", 44)
