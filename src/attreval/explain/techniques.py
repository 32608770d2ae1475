"""Which explanations of units, of pairs and of pairs of spans belong together? The techniques of Sun et al. (2024)."""

from __future__ import annotations

from attreval.explain import attention_attribution as attended
from attreval.explain import bivariate_shapley as shapley
from attreval.explain import combined
from attreval.explain.method import Method

S24 = "Sun et al. 2024"
ATTENDING = ("transformer",)
COALITIONS = "min(2^n, shapley_samples + 2)"
LINKS = "layers x attention_steps to attention_steps_most, + layers + 1"

LEVELLED = (
    Method(
        "kernel_shap",
        "Kernel SHAP",
        shapley.kernel_shap,
        COALITIONS,
        "Lundberg & Lee 2017",
        signed=True,
        draws="coalitions",
    ),
    Method(
        "bivariate_shapley",
        "Bivariate Shapley",
        shapley.bivariate_shapley,
        COALITIONS,
        "Masoomi et al. 2023",
        signed=True,
        level="pair",
        draws="coalitions",
    ),
    Method(
        "bivariate_shapley_spans",
        "Bivariate Shapley, spans",
        shapley.bivariate_shapley_spans,
        COALITIONS,
        f"{S24}, appendix D",
        signed=True,
        level="span",
        draws="coalitions",
    ),
    Method(
        "attention_head",
        "Attention of the most important head",
        attended.attention_head,
        "2",
        "Jain & Wallace 2019; Ray Choudhury et al. 2023",
        signed=False,
        families=ATTENDING,
    ),
    Method(
        "attention_head_pairs",
        "Attention of the head, pairs",
        attended.attention_head_pairs,
        "2",
        "Clark et al. 2019",
        signed=False,
        level="pair",
        families=ATTENDING,
    ),
    Method(
        "attention_head_spans",
        "Attention of the head, spans",
        attended.attention_head_spans,
        "2",
        f"{S24}, appendix D",
        signed=False,
        level="span",
        families=ATTENDING,
        draws="attention_head",
    ),
    Method(
        "attention_attribution",
        "Attention attribution",
        attended.attention_attribution,
        LINKS,
        "Hao et al. 2021; Ye et al. 2021",
        signed=False,
        level="pair",
        families=ATTENDING,
    ),
    Method(
        "attention_attribution_spans",
        "Attention attribution, spans",
        attended.attention_attribution_spans,
        LINKS,
        f"{S24}, appendix D",
        signed=False,
        level="span",
        families=ATTENDING,
        draws="attention_attribution",
    ),
    Method(
        "shapley_combined",
        "Shapley, combined",
        combined.shapley_combined,
        COALITIONS,
        "ours, after the outlook of " + S24,
        signed=True,
        level="span",
        draws="coalitions",
    ),
    Method(
        "attention_combined",
        "Attention of the head, combined",
        combined.attention_combined,
        "2",
        "ours, after the outlook of " + S24,
        signed=False,
        level="span",
        families=ATTENDING,
        draws="attention_head",
    ),
    Method(
        "gradients_combined",
        "Integrated gradients, combined",
        combined.gradients_combined,
        f"path_steps to path_steps_most, + 2, and {LINKS}",
        "ours, after the outlook of " + S24,
        signed=True,
        level="span",
        families=ATTENDING,
        draws="attention_attribution",
    ),
)
# technique -> type of explanation -> method
TECHNIQUES = {
    "shapley": {
        "token": "kernel_shap",
        "pair": "bivariate_shapley",
        "span": "bivariate_shapley_spans",
        "combined": "shapley_combined",
    },
    "attention": {
        "token": "attention_head",
        "pair": "attention_head_pairs",
        "span": "attention_head_spans",
        "combined": "attention_combined",
    },
    "gradients": {
        "token": "integrated_gradients",
        "pair": "attention_attribution",
        "span": "attention_attribution_spans",
        "combined": "gradients_combined",
    },
}
TYPES = ("token", "pair", "span", "combined")
