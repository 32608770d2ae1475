"""Metrics of attributions, one file a metric or a family: METRICS holds those of all files, by
name.

Which direction is better stands on the metric and nowhere else, and a name means one quantity with
one direction: what is turned round so that higher is better has a name of its own (`simplicity` is
1 less a share of `complexity`).
FAITHFULNESS: those of Zhao & Aletras (2023), in the order of their tables; HARD_OF: the
    counterparts of the soft ones.
STORED: by the measure's name in results/<profile>/instances. EVALUATED: those that
    `attreval.evaluate` computes.
"""

from typing import Any

from attreval.core.collected import held_in
from attreval.metrics.metric import JUDGES, Metric

FAITHFULNESS = ("nc", "soft_nc", "ns", "soft_ns")
_COLLECTED = ("METRICS", "HARD_OF", "STORED", "EVALUATED")
__all__ = ["FAITHFULNESS", *_COLLECTED]


def __getattr__(name: str) -> Any:
    """What is collected from all files, at first use: these files import this package
    themselves.
    """
    if name not in _COLLECTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    metrics = {metric.name: metric for metric in collect_metrics()}
    globals().update(
        METRICS=metrics,
        HARD_OF={soft: metrics[soft].hard for soft in FAITHFULNESS if metrics[soft].hard},
        STORED={metric.stored: metric for metric in metrics.values() if metric.stored},
        EVALUATED=tuple(name for name, metric in metrics.items() if not metric.notebook),
    )
    return globals()[name]


def collect_metrics() -> list[Metric]:
    """The metrics of every file, by their `order`; those without one at the end of their judge, by
    name.
    """
    found = held_in("attreval.metrics", Metric) | held_in("attreval.metrics.unified", Metric)
    last = dict.fromkeys(("", *JUDGES), 0)
    for one in found.values():
        last[one.judge] = max(last[one.judge], one.order)
    return sorted(found.values(), key=lambda one: (one.order or last[one.judge] + 0.5, one.name))
