"""The part of METHODS that scores units, pairs of units and pairs of spans: the methods of Sun et al. (2024).

With them stand the combined ones, which are ours, and ProxySPEX, for comparison.
"""

from __future__ import annotations

from attreval.methods import attention_attribution as attention
from attreval.methods import bivariate_shapley, combined, kernel_shap, proxyspex
from attreval.methods.method import Method

S24 = "Sun et al. 2024"
_OURS = f"ours, after the outlook of {S24}"
_SPANS = f"{S24}, appendix D"
_LINKS = "layers x attention_steps to attention_steps_most, + layers + 1"
_LINK_LIMITS = ("units.attention_steps", "units.attention_steps_most")
_SHAPLEY = {
    "evaluations": "min(2^n, shapley_samples + 2)",
    "kind": "perturbation",
    "sampled": True,
    "limits": ("units.shapley_samples",),
    "stochastic": True,
    "draws": "coalitions",
}
_PROXY = _SHAPLEY | {
    "evaluations": "min(2^n, shapley_samples)",
    "draws": "uniform_coalitions",
    "requires": proxyspex.REQUIRES,
    "extra": "interactions",
}
_HEAD = {"evaluations": "2", "kind": "attention", "signed": False, "families": ("transformer",)}
_HEAD_SPANS = _HEAD | {"level": "span", "stochastic": True, "draws": "attention_head"}
_LINKED = _HEAD | {"evaluations": _LINKS, "limits": _LINK_LIMITS}
_LINKED_SPANS = _LINKED | {"level": "span", "stochastic": True, "draws": "attention_attribution"}


def _sun(row: int, name: str) -> dict[str, tuple[int, str]]:
    """Its technique and the type of its explanation."""
    return {"sun2024": (row, name)}


UNIT_METHODS = (
    Method(
        "kernel_shap",
        "Kernel SHAP",
        kernel_shap.kernel_shap,
        source="Lundberg & Lee 2017",
        in_papers=_sun(1, "shapley token"),
        **_SHAPLEY,
    ),
    Method(
        "bivariate_shapley",
        "Bivariate Shapley",
        bivariate_shapley.bivariate_shapley,
        source="Masoomi et al. 2023",
        level="pair",
        in_papers=_sun(2, "shapley pair"),
        **_SHAPLEY,
    ),
    Method(
        "bivariate_shapley_spans",
        "Bivariate Shapley, spans",
        bivariate_shapley.bivariate_shapley_spans,
        source=_SPANS,
        level="span",
        in_papers=_sun(3, "shapley span"),
        **_SHAPLEY,
    ),
    Method("proxyspex", "ProxySPEX", proxyspex.proxyspex, source="Butler et al. 2025", level="pair", **_PROXY),
    Method(
        "proxyspex_spans",
        "ProxySPEX, spans",
        proxyspex.proxyspex_spans,
        source=f"Butler et al. 2025; {_SPANS}",
        level="span",
        **_PROXY,
    ),
    Method(
        "attention_head",
        "Attention of the most important head",
        attention.attention_head,
        source="Jain & Wallace 2019; Ray Choudhury et al. 2023",
        in_papers=_sun(5, "attention token"),
        **_HEAD,
    ),
    Method(
        "attention_head_pairs",
        "Attention of the head, pairs",
        attention.attention_head_pairs,
        source="Clark et al. 2019",
        level="pair",
        in_papers=_sun(6, "attention pair"),
        **_HEAD,
    ),
    Method(
        "attention_head_spans",
        "Attention of the head, spans",
        attention.attention_head_spans,
        source=_SPANS,
        in_papers=_sun(7, "attention span"),
        **_HEAD_SPANS,
    ),
    Method(
        "attention_attribution",
        "Attention attribution",
        attention.attention_attribution,
        source="Hao et al. 2021; Ye et al. 2021",
        level="pair",
        in_papers=_sun(10, "gradients pair"),
        **_LINKED,
    ),
    Method(
        "attention_attribution_spans",
        "Attention attribution, spans",
        attention.attention_attribution_spans,
        source=_SPANS,
        in_papers=_sun(11, "gradients span"),
        **_LINKED_SPANS,
    ),
    Method(
        "shapley_combined",
        "Shapley, combined",
        combined.shapley_combined,
        source=_OURS,
        level="span",
        in_papers=_sun(4, "shapley combined"),
        **_SHAPLEY | {"evaluations": f"2 {_SHAPLEY['evaluations']}"},
    ),
    Method(
        "attention_combined",
        "Attention of the head, combined",
        combined.attention_combined,
        source=_OURS,
        in_papers=_sun(8, "attention combined"),
        **_HEAD_SPANS | {"evaluations": "4"},
    ),
    Method(
        "gradients_combined",
        "Integrated gradients, combined",
        combined.gradients_combined,
        source=_OURS,
        in_papers=_sun(12, "gradients combined"),
        evaluations=f"path_steps to path_steps_most, + 2, and {_LINKS}",
        kind="gradient",
        level="span",
        families=("transformer",),
        limits=("path_steps", "path_steps_most", *_LINK_LIMITS),
        stochastic=True,
        draws="attention_attribution",
    ),
)
