"""The part of METHODS that scores units, pairs of units and pairs of spans: the methods of Sun et al. (2024).

With them stand the combined ones, which are ours.
"""

from __future__ import annotations

from attreval.explain import attention_attribution as attention
from attreval.explain import bivariate_shapley, combined, kernel_shap
from attreval.explain.method import Method

S24 = "Sun et al. 2024"
OURS = f"ours, after the outlook of {S24}"
SPANS = f"{S24}, appendix D"
LINKS = "layers x attention_steps to attention_steps_most, + layers + 1"
LINK_LIMITS = ("units.attention_steps", "units.attention_steps_most")
SHAPLEY = {
    "evaluations": "min(2^n, shapley_samples + 2)",
    "kind": "perturbation",
    "sampled": True,
    "limits": ("units.shapley_samples",),
    "stochastic": True,
    "draws": "coalitions",
}
HEAD = {"evaluations": "2", "kind": "attention", "signed": False, "families": ("transformer",)}
HEAD_SPANS = HEAD | {"level": "span", "stochastic": True, "draws": "attention_head"}
LINKED = HEAD | {"evaluations": LINKS, "limits": LINK_LIMITS}
LINKED_SPANS = LINKED | {"level": "span", "stochastic": True, "draws": "attention_attribution"}


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
        **SHAPLEY,
    ),
    Method(
        "bivariate_shapley",
        "Bivariate Shapley",
        bivariate_shapley.bivariate_shapley,
        source="Masoomi et al. 2023",
        level="pair",
        in_papers=_sun(2, "shapley pair"),
        **SHAPLEY,
    ),
    Method(
        "bivariate_shapley_spans",
        "Bivariate Shapley, spans",
        bivariate_shapley.bivariate_shapley_spans,
        source=SPANS,
        level="span",
        in_papers=_sun(3, "shapley span"),
        **SHAPLEY,
    ),
    Method(
        "attention_head",
        "Attention of the most important head",
        attention.attention_head,
        source="Jain & Wallace 2019; Ray Choudhury et al. 2023",
        in_papers=_sun(5, "attention token"),
        **HEAD,
    ),
    Method(
        "attention_head_pairs",
        "Attention of the head, pairs",
        attention.attention_head_pairs,
        source="Clark et al. 2019",
        level="pair",
        in_papers=_sun(6, "attention pair"),
        **HEAD,
    ),
    Method(
        "attention_head_spans",
        "Attention of the head, spans",
        attention.attention_head_spans,
        source=SPANS,
        in_papers=_sun(7, "attention span"),
        **HEAD_SPANS,
    ),
    Method(
        "attention_attribution",
        "Attention attribution",
        attention.attention_attribution,
        source="Hao et al. 2021; Ye et al. 2021",
        level="pair",
        in_papers=_sun(10, "gradients pair"),
        **LINKED,
    ),
    Method(
        "attention_attribution_spans",
        "Attention attribution, spans",
        attention.attention_attribution_spans,
        source=SPANS,
        in_papers=_sun(11, "gradients span"),
        **LINKED_SPANS,
    ),
    Method(
        "shapley_combined",
        "Shapley, combined",
        combined.shapley_combined,
        source=OURS,
        level="span",
        in_papers=_sun(4, "shapley combined"),
        **SHAPLEY,
    ),
    Method(
        "attention_combined",
        "Attention of the head, combined",
        combined.attention_combined,
        source=OURS,
        in_papers=_sun(8, "attention combined"),
        **HEAD_SPANS,
    ),
    Method(
        "gradients_combined",
        "Integrated gradients, combined",
        combined.gradients_combined,
        source=OURS,
        in_papers=_sun(12, "gradients combined"),
        evaluations=f"path_steps to path_steps_most, + 2, and {LINKS}",
        kind="gradient",
        level="span",
        families=("transformer",),
        limits=("path_steps", "path_steps_most", *LINK_LIMITS),
        stochastic=True,
        draws="attention_attribution",
    ),
)
