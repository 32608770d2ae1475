"""Metrics that a trial must let pass or condemn: one that ranks by the truth, and three broken on
purpose.
"""

from dataclasses import replace

import numpy as np

from attreval.metrics import METRICS
from attreval.metrics.metric import metric
from attreval.trial import WORLDS
from attreval.trial.measure import TRUTH, closeness
from attreval.trial.run import NULLS

SEED = 11
TEXTS = 12
MADE = tuple(name for name, one in WORLDS.items() if not one.corpus and not one.by_name)
OWN = {"judge": "", "source": "test", "higher_is_better": True}


@metric("Ranks as the truth does", needs=("scores", "rivals"), **OWN)
def truth_ranking(text, method):
    """The share of pairs of words in the order of the truth."""
    return closeness(text.scores[method], text.scores[TRUTH])


def broken(change, name):
    """NC, broken on purpose: turned round, of the scores of the word before, or less its own least
    value.
    """

    @metric(name, name=name, needs=("scores", "model"), **OWN)
    def made(text, method):
        scores = np.roll(text.scores[method], 1) if change == "off by one" else text.scores[method]
        value = yield from METRICS["nc"].function(
            replace(text, scores={method: scores}, found={}), method
        )
        return {
            "off by one": value,
            "sign": -value,
            "normalised away": (value - value) / max(1e-9, value),
        }[change]

    return made


BROKEN = {
    name: broken(change, name) for name, change in (("turned", "sign"), ("shifted", "off by one"))
}
BROKEN["flat"] = broken("normalised away", "flat")
METRICS_TRIED = {"truth_ranking": truth_ranking, "nc": METRICS["nc"], **BROKEN, **NULLS}
