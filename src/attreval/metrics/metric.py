"""A metric: one function, what it is asked of one text, with all that is known of it: title,
source, needs, direction.

Written in a file of this package, it is a member of METRICS (see `attreval.metrics`) and so
reported everywhere: by `attreval.evaluate`, on its card, on planted models, and with `joint=True`
in the joint study and the explorer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getdoc, isgenerator
from typing import Any

from attreval.metrics.scored_text import ScoredText
from attreval.models.outputs import ANY
from attreval.models.questions import Conversation

# the judges of a profile: name in its `judges` -> heading with the paper
JUDGES = {
    "pointing": "Pointing (Poerner et al. 2018)",
    "agreement": "Agreement (Kamp et al. 2023)",
    "faithfulness": "Faithfulness (Zhao & Aletras 2023)",
    "diagnosis": "Diagnosis (Sun et al. 2024)",
}
NO_JUDGE = "Metrics of no single paper"
NEEDS = (
    "scores",
    "rivals",
    "random",
    "marks",
    "relations",
    "model",
    "agent",
    "models",
    "metrics",
    "truth",
    "texts",
    "neighbours",
    "randomised",
    "infill",
)
UNIT = (0.0, 1.0)


@dataclass(frozen=True)
class Metric:
    """One metric.

    title: as figures and tables write it. judge: one of JUDGES, or empty. source: paper and
    section. about: what it says, one sentence. needs: of NEEDS. range: the least and the greatest
    value, of probabilities. higher_is_better: None where neither direction is. function: what
    computes it: (text, method) -> the value, or a conversation with the model that returns it;
    anything else where `notebook` names the one that computes it. outputs: of models, see
    models.outputs, that it judges. level: `token`, or `pair` where it judges pairs alone. stored:
    the measure's name in results/<profile>/instances, where values of single texts are kept. joint:
    the joint study compares it. turned: of what it is the opposite, so that higher is better. hard:
    the counterpart of a soft metric. order: its place among all metrics; without one it stands at
    the end of its judge. also: other names.
    by_name: asked only where it is named: it asks the model for many rows of a text, or is
        redundant.
    disturbs: it needs a model whose vectors can be disturbed where they enter the encoder. planted:
    whether planted models put it to the test. blind: why it cannot tell a planted truth, where that
    is known.
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
    outputs: tuple[str, ...] = ANY
    level: str = "token"
    stored: str = ""
    joint: bool = False
    turned: str = ""
    hard: str = ""
    order: int = 0
    also: tuple[str, ...] = ()
    by_name: bool = False
    disturbs: bool = False
    planted: bool = True
    blind: str = ""
    notebook: str = ""

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 where lower is, 0 where neither."""
        return 0 if self.higher_is_better is None else 1 if self.higher_is_better else -1

    def ask(self, text: ScoredText, method: str) -> Conversation:
        """The conversation with the model that returns the value of one method on one text.

        NaN where it has none, as where it needs marks and nobody marked a word. What the text knows
        is not asked again.
        """
        key = (self.name, method)
        if key not in text.found:
            if "marks" in self.needs and not text.evidence.any():
                return float("nan")
            value = self.function(text, method)
            text.found[key] = float((yield from value) if isgenerator(value) else value)
        return text.found[key]


def metric(
    title: str,
    *,
    judge: str,
    source: str,
    needs: tuple[str, ...],
    higher_is_better: bool | None,
    range: tuple[float, float] = UNIT,
    name: str = "",
    about: str = "",
    **facts: Any,
) -> Callable[[Callable[..., Any]], Metric]:
    """A decorator that makes a function a Metric of its name.

    Args:
        name: Where it is not the function's.
        about: Where it is not the first paragraph of the function's docstring.
        facts: The others of Metric, whose docstring says what each means.
    """

    def make(function: Callable[..., Any]) -> Metric:
        named = name or function.__name__
        said = about or " ".join((getdoc(function) or "").partition("\n\n")[0].split())
        return Metric(
            named, title, judge, source, said, needs, range, higher_is_better, function, **facts
        )

    return make
