"""What the library has: methods and metrics, as plain rows; the site's cards are made from the same rows.

Each pair of a metric and a method has a place where it is computed, or a reason why it cannot be. Reasons lie in what a
method scores and what a metric compares, never in what a profile happens to ask.

A method is found by its name in METHODS, by its title, and by what other libraries call it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import reduce

from attreval.methods import METHODS, TECHNIQUES, methods_for
from attreval.methods.method import FAMILIES, Budget, Method
from attreval.metrics import METRICS
from attreval.metrics.metric import Metric

LEVELS = {"token": "tokens", "pair": "pairs of tokens", "span": "pairs of spans"}
EVALUATED = "attreval.evaluate"
OF_TECHNIQUES = {name for types in TECHNIQUES.values() for name in types.values()}


def list_methods() -> list[dict]:
    """Explanation methods."""
    return [
        {
            "name": m.name,
            "title": m.title,
            "also": [alias for alias, name in ALIASES.items() if name == m.name],
            "kind": m.kind,
            "level": m.level,
            "models": list(m.families),
            "why_not": {family: m.why_not(family) for family in FAMILIES if family not in m.families},
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
        for m in METHODS.values()
    ]


def list_metrics() -> list[dict]:
    """Metrics: which direction is better, range, needs and what it says; where it judges a method, or why not."""
    return [
        {
            "name": m.name,
            "title": m.title,
            "also": list(m.also),
            "judge": m.judge,
            "direction": {1: "higher is better", -1: "lower is better", 0: "neither"}[m.sign],
            "range": f"{m.range[0]:g} to {m.range[1]:g}",
            "needs": list(m.needs),
            "level": m.level,
            "joint": m.joint,
            "turned": m.turned,
            "hard": m.hard,
            "about": m.about,
            "python": "" if m.notebook else "evaluate",
            "function": place_of(m.function),
            "source": m.source,
            "computed": {name: where for name, of in METHODS.items() if (where := where_computed(m, of))},
            "why_not": {name: why for name, of in METHODS.items() if (why := why_not(m, of))},
        }
        for m in METRICS.values()
    ]


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


def _first_line(converse: Callable) -> str:
    """What a method computes: its own docstring's first line, or that of the file where it is one of a family."""
    documented = converse if converse.__doc__ else importlib.import_module(converse.__module__)
    return inspect.cleandoc(documented.__doc__ or "").partition("\n")[0]


CATALOGUES = {"methods": list_methods, "metrics": list_metrics}


DEFAULT = ("gradient_x_input", "integrated_gradients", "occlusion_1", "lime")
ALIASES = {
    "ig": "integrated_gradients",
    "intgrad": "integrated_gradients",
    "shap": "partition_shap",  # what shap.Explainer takes for texts
    "shapley": "kernel_shap",
    "occlusion": "occlusion_1",
    "featureablation": "occlusion_1",
    "omission": "omission_1",
    "leaveoneout": "omission_1",
    "loo": "omission_1",
    "limsse": "limsse_class",
    "gradient": "gradient_l2",
    "saliency": "gradient_l1",
    "inputxgradient": "gradient_x_input",
    "inputxgrad": "gradient_x_input",
    "gradientinput": "gradient_x_input",
    "gxi": "gradient_x_input",
    "celldecomposition": "decomposition",
    "attnlrp": "lrp",
    "rollout": "attention_rollout",
}


def plain(name: str) -> str:
    """A name without case, dashes, underscores, brackets and spaces."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def find_methods(names: str | Iterable[str] | None, family: str | None = None) -> list[str]:
    """The names of METHODS that are meant, each once, in the order asked for; the default ones where none is.

    names: one or several, with commas between them too, in any case, or as another library calls the method; `all` is
    every method that scores tokens. family: of the model, where it is known. Raises ValueError for a name that is not
    known, with the nearest, and for a method that does not apply to the family.
    """
    from attreval.methods.run import pick_methods

    usual = [name for name in DEFAULT if family is None or family in METHODS[name].families]
    asked = [names] if isinstance(names, str) else list(usual if names is None else names)
    if wrong := [one for one in asked if not isinstance(one, str)]:
        raise ValueError(f"a method is asked for by its name; got {wrong[0]!r}")
    known = known_names()  # some titles hold a comma
    parts = [part.strip() for one in asked for part in ([one] if plain(one) in known else one.split(","))]
    parts = [part for part in parts if part]
    if not parts:
        raise ValueError("no method is named; `attreval list methods` lists them")
    every = methods_for(family) if family else [name for name, m in METHODS.items() if m.level == "token"]
    found: list[str] = []
    for part in parts:
        found += every if plain(part) == "all" else [_find_method(part, known)]
    return pick_methods(list(dict.fromkeys(found)), family)


def asks_for_all(names: str | Iterable[str] | None) -> bool:
    """Whether `all` is among the names: then what does not apply is left out, else it is an error."""
    asked = [names] if isinstance(names, str) else names or []
    return any(plain(part) == "all" for name in asked for part in name.split(","))


def known_names() -> dict[str, str]:
    """What a method may be called, as `plain` writes it -> its name in METHODS."""
    return {plain(m.title): m.name for m in METHODS.values()} | ALIASES | {plain(m): m for m in METHODS}


def _find_method(name: str, known: dict[str, str]) -> str:
    """One name of METHODS. ValueError for an unknown one."""
    if plain(name) in known:
        return known[plain(name)]
    near = get_close_matches(plain(name), known, n=2, cutoff=0.6)
    meant = list(dict.fromkeys(known[one] for one in near))
    hint = f"; did you mean {' or '.join(map(repr, meant))}?" if meant else ""
    raise ValueError(f"unknown method {name!r}{hint or ';'} `attreval list methods` lists all {len(METHODS)}")
