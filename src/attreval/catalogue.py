"""What the library has: methods and metrics, as plain rows."""

from __future__ import annotations

from attreval.api.coverage import place_of, where_computed, why_not
from attreval.api.method_names import ALIASES
from attreval.methods import METHODS
from attreval.methods.method import FAMILIES
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
            "stochastic": m.stochastic,
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
            "judge": m.judge,
            "direction": {1: "higher is better", -1: "lower is better", 0: "neither"}[m.sign],
            "range": f"{m.range[0]:g} to {m.range[1]:g}",
            "needs": list(m.needs),
            "about": m.about,
            "python": "" if m.notebook else "evaluate",
            "function": place_of(m.function),
            "source": m.source,
            "computed": {name: where for name, of in METHODS.items() if (where := where_computed(m, of))},
            "why_not": {name: why for name, of in METHODS.items() if (why := why_not(m, of))},
        }
        for m in METRICS.values()
    ]


CATALOGUES = {"methods": list_methods, "metrics": list_metrics}
