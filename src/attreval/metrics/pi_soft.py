"""π-Soft-NC and π-Soft-NS: soft erasure at equal expected rates of what stays, over many rates (Huang & Chan 2026).

Min-max scaled scores of a high mean keep more of a text than others do. Here the mean probability to stay is π for
every explanation, and the area over π from 0.1 to 0.9 is taken. How scores are brought to that mean is ours: one number
is added to the log-odds of all, so that none is cut off at 0 or 1 (`soft_erasure`, `calibrated`). `soft_nc_equal` and
`soft_ns_equal` are the two at π = 1/2. 72 evaluations a method with four draws, shared by both.
"""

from __future__ import annotations

import numpy as np

from attreval.metrics.scored_text import ScoredText
from attreval.metrics.soft_erasure import SoftValues, ask_soft, soft
from attreval.models.questions import Conversation

RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_pi = {"source": "Huang & Chan 2026", "by_name": True, "planted": False}


def ask_rates(text: ScoredText, method: str) -> Conversation:
    """The conversation that erases softly at every rate: returns SoftValues of each."""
    found: list[SoftValues] = []
    for rate in RATES:
        found.append((yield from ask_soft(text, method, "calibrated", rate)))
    return found


def area_over(values: list[float]) -> float:
    """Area under values at RATES by the trapezoid rule, as a share of the width: a mean value."""
    return float(np.trapezoid(values, RATES) / (RATES[-1] - RATES[0]))


@soft("\N{GREEK SMALL LETTER PI}-Soft-NC", order=97, hard="nc", **_pi)
def pi_soft_nc(text: ScoredText, method: str) -> Conversation:
    """Soft-NC with strengths of one mean for every explanation, averaged over means from 0.1 to 0.9."""
    return area_over([one.comprehensiveness for one in (yield from ask_rates(text, method))])


@soft("\N{GREEK SMALL LETTER PI}-Soft-NS", order=98, hard="ns", **_pi)
def pi_soft_ns(text: ScoredText, method: str) -> Conversation:
    """Soft-NS with strengths of one mean for every explanation, averaged over means from 0.1 to 0.9."""
    return area_over([one.sufficiency for one in (yield from ask_rates(text, method))])
