"""What the library has: methods and metrics, as plain rows; the site's cards are made of them.

Each pair of a metric and a method has a place where it is computed, or a reason why it cannot be.
Reasons lie in what a method scores and what a metric compares, never in what a profile happens to
ask.
"""

import importlib
import inspect
from collections.abc import Callable
from functools import reduce

from attreval.api.method_names import ALIASES
from attreval.methods import METHODS, TECHNIQUES
from attreval.methods.method import FAMILIES, Budget, Method
from attreval.metrics import METRICS
from attreval.metrics.metric import Metric

LEVELS = {"token": "tokens", "pair": "pairs of tokens", "span": "pairs of spans"}
EVALUATED = "attreval.evaluate"
OF_TECHNIQUES = {name for types in TECHNIQUES.values() for name in types.values()}


def list_methods() -> list[dict]:
    """Explanation methods."""
    return [_method_row(method) for method in METHODS.values()]


def _method_row(m: Method) -> dict:
    others = [family for family in FAMILIES if family not in m.families]
    return {
        "name": m.name,
        "title": m.title,
        "also": [alias for alias, name in ALIASES.items() if name == m.name],
        "kind": m.kind,
        "level": m.level,
        "models": list(m.families),
        "outputs": list(m.outputs),
        "why_not": {family: m.why_not(family) for family in others},
        "missing": m.missing(),
        "evaluations": m.evaluations,
        "signed": m.signed,
        "sampled": m.sampled,
        "limits": list(m.limits),
        "defaults": {name: reduce(getattr, name.split("."), Budget()) for name in m.limits},
        "stochastic": m.stochastic,
        "draws": m.draws,
        "requires": list(m.requires),
        "install": m.install if m.requires else "",
        "computes": _first_line(m.converse),
        "function": place_of(m.converse),
        "source": m.source,
        "in_papers": {paper: name for paper, (_, name) in m.in_papers.items()},
    }


def list_metrics() -> list[dict]:
    """Metrics: direction, range, needs and what they say; where they judge a method, or why not."""
    return [_metric_row(metric) for metric in METRICS.values()]


def _metric_row(m: Metric) -> dict:
    low, high = m.range
    place = f"notebook {m.notebook}" if m.notebook else EVALUATED
    reasons = {name: why_not(m, method) for name, method in METHODS.items()}
    return {
        "name": m.name,
        "title": m.title,
        "also": list(m.also),
        "judge": m.judge,
        "direction": {1: "higher is better", -1: "lower is better", 0: "neither"}[m.sign],
        "range": f"{low:g} to {high:g}",
        "needs": list(m.needs),
        "outputs": list(m.outputs),
        "level": m.level,
        "joint": m.joint,
        "turned": m.turned,
        "hard": m.hard,
        "about": m.about,
        "python": "" if m.notebook else "evaluate",
        "function": place_of(m.function),
        "source": m.source,
        "computed": {name: place for name, why in reasons.items() if not why},
        "why_not": {name: why for name, why in reasons.items() if why},
    }


def why_not(metric: Metric, method: Method) -> str:
    """Why a metric does not judge a method's explanations, empty where it does."""
    scored = LEVELS[method.level]
    if "metrics" in metric.needs:
        return "it judges metrics, not explanations"
    if metric.level == "pair" and method.level != "pair":
        return f"it judges pairs of tokens, and these are scores of {scored}"
    if not metric.notebook:  # scores of pairs and spans are shared out over their tokens
        return ""
    if metric.judge == "pointing" and method.level != "token":
        return f"its texts have one part, and {scored} are made across two"
    if "models" in metric.needs and method.level != "token":
        return (
            f"it lines up one score a token from model to model, and these are scores of {scored}"
        )
    if metric.judge == "diagnosis" and method.name not in OF_TECHNIQUES:
        return (
            "it holds tokens, pairs and spans of one technique against each other, and this "
            f"method has {scored} alone"
        )
    return ""


def place_of(function: Callable) -> str:
    """Where a function is written: file below the package and name, as docs/map.md writes it."""
    module = importlib.import_module(function.__module__)
    held = {
        name: getattr(value, "function", getattr(value, "converse", value))
        for name, value in vars(module).items()
    }
    bound = [name for name, value in held.items() if value is function]
    name = bound[0] if bound else function.__qualname__.partition(".")[0]
    return f"{function.__module__.removeprefix('attreval.').replace('.', '/')}.py::{name}"


def _first_line(converse: Callable) -> str:
    """What a method computes: the first line of its docstring, or of its family's file."""
    documented = converse if converse.__doc__ else importlib.import_module(converse.__module__)
    return inspect.cleandoc(documented.__doc__ or "").partition("\n")[0]


CATALOGUES = {"methods": list_methods, "metrics": list_metrics}
