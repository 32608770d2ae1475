"""Which metric judges which method: each pair has a place where it is computed, or a reason why it cannot be.

Reasons lie in what a method scores and what a metric compares, never in what a profile happens to ask.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from attreval.methods import TECHNIQUES
from attreval.methods.method import Method
from attreval.metrics.metric import Metric

LEVELS = {"token": "tokens", "pair": "pairs of tokens", "span": "pairs of spans"}
EVALUATED = "attreval.evaluate"
OF_TECHNIQUES = {name for types in TECHNIQUES.values() for name in types.values()}


def where_computed(metric: Metric, method: Method) -> str:
    """Where a metric is computed of a method's explanations, empty where `why_not` says why it is not."""
    if why_not(metric, method):
        return ""
    return f"notebook {metric.notebook}" if metric.notebook else EVALUATED


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
        return f"it lines up one score a token from model to model, and these are scores of {scored}"
    if metric.judge == "diagnosis" and method.name not in OF_TECHNIQUES:
        return (
            f"it holds tokens, pairs and spans of one technique against each other, and this method has {scored} alone"
        )
    return ""


def place_of(function: Callable) -> str:
    """Where a function is written: file below the package and name, as docs/map.md writes it."""
    module = importlib.import_module(function.__module__)
    held = {name: getattr(value, "function", getattr(value, "converse", value)) for name, value in vars(module).items()}
    bound = [name for name, value in held.items() if value is function]
    name = bound[0] if bound else function.__qualname__.partition(".")[0]
    return f"{function.__module__.removeprefix('attreval.').replace('.', '/')}.py::{name}"
