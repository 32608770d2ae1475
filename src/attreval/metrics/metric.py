"""A metric, and all that is known of it: title, source, what it needs, its range, which direction is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# the judges of a profile: name in its `judges` -> heading with the paper
JUDGES = {
    "pointing": "Pointing (Poerner et al. 2018)",
    "agreement": "Agreement (Kamp et al. 2023)",
    "faithfulness": "Faithfulness (Zhao & Aletras 2023)",
    "diagnosis": "Diagnosis (Sun et al. 2024)",
}
NEEDS = ("scores", "rivals", "marks", "relations", "model", "agent", "models", "metrics", "truth")


@dataclass(frozen=True)
class Metric:
    """One metric.

    title: as figures and tables write it. judge: one of JUDGES, or empty. source: paper and section. about: what it
    says, one sentence. needs: of NEEDS. range: the least and the greatest value. higher_is_better: None where neither
    direction is. function: what computes it. level: `token`, or `pair` where it judges pairs alone.
    stored: the measure's name in results/<profile>/instances, where values of single texts are kept. joint: the joint
    study compares it. turned: of what it is the opposite, so that higher is better. hard: the counterpart of a soft
    metric.
    """

    name: str
    title: str
    judge: str
    source: str
    about: str
    needs: tuple[str, ...]
    range: tuple[float, float]
    higher_is_better: bool | None
    function: Callable[..., Any]
    level: str = "token"
    stored: str = ""
    joint: bool = False
    turned: str = ""
    hard: str = ""

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 where lower is, 0 where neither."""
        return 0 if self.higher_is_better is None else 1 if self.higher_is_better else -1
