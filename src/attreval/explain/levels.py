"""Which explanations of units, of pairs and of pairs of spans belong together? The techniques of Sun et al. (2024)."""

from __future__ import annotations

from attreval.explain import attended, shapley
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
    ),
)
# technique -> the method of each level
TECHNIQUES = {
    "shapley": ("kernel_shap", "bivariate_shapley", "bivariate_shapley_spans"),
    "attention": ("attention_head", "attention_head_pairs", "attention_head_spans"),
    "gradients": ("integrated_gradients", "attention_attribution", "attention_attribution_spans"),
}
TITLES = {"shapley": "Shapley", "attention": "Attention", "gradients": "Integrated gradients"}
TYPES = {"token": "TokenEx", "pair": "TokenIntEx", "span": "SpanIntEx"}
