"""What the library has: methods and metrics, as plain rows; the site's cards are made from the same rows."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import reduce

from attreval.api.coverage import place_of, where_computed, why_not
from attreval.api.method_names import ALIASES
from attreval.methods import METHODS
from attreval.methods.method import FAMILIES, Budget
from attreval.metrics import METRICS


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


def _first_line(converse: Callable) -> str:
    """What a method computes: its own docstring's first line, or that of the file where it is one of a family."""
    documented = converse if converse.__doc__ else importlib.import_module(converse.__module__)
    return inspect.cleandoc(documented.__doc__ or "").partition("\n")[0]


CATALOGUES = {"methods": list_methods, "metrics": list_metrics}
