"""The list of explanation methods: the one place where a method gets its name."""

from __future__ import annotations

from attreval.explain import (
    attention,
    lime,
    limsse,
)
from attreval.explain import (
    baselines as baseline,
)
from attreval.explain import (
    cell_decomposition as decomposition,
)
from attreval.explain import (
    integrated_gradients as gradient,
)
from attreval.explain import (
    last_token as position,
)
from attreval.explain import (
    lrp_deeplift as relevance,
)
from attreval.explain import (
    occlusion as erasure,
)
from attreval.explain import (
    partition_shap as partition,
)
from attreval.explain import (
    zhao_gradients as erasable,
)
from attreval.explain.method import FAMILIES, Method
from attreval.explain.techniques import LEVELLED

P18, Z23 = "Poerner et al. 2018", "Zhao & Aletras 2023"
GATED = ("recurrent", "quasi")
WORD_LEVEL = (*GATED, "convolutional")


def gradients() -> tuple[Method, ...]:
    """Those of the eight gradients of Poerner et al. that have no other name: gradient_l2 and gradient_x_input do."""
    return tuple(
        Method(
            f"gradient_{'integrated' if path else 'simple'}_{of}_{measure}",
            f"{'Integrated gradient' if path else 'Gradient'} of {of} ({measure.replace('l2', 'L2')})",
            gradient.poerner(path, of, measure),
            "riemann_steps" if path else "1",
            f"{P18}, section 3.1",
            signed=measure == "dot",
        )
        for path in (False, True)
        for of in ("logit", "probability")
        for measure in ("l2", "dot")
        if path or of == "probability"
    )


def wider_erasures() -> tuple[Method, ...]:
    """Occlusion and omission of more than one token at a time."""
    return tuple(
        Method(f"{word.lower()}_{size}", f"{word} ({size})", make(size), f"n - {size - 2}", f"{P18}, 3.5", signed=True)
        for word, make in (("Occlusion", erasure.occlusion), ("Omission", erasure.omission))
        for size in (3, 7)
    )


def substring_surrogates() -> tuple[Method, ...]:
    """LIMSSE with its three losses."""
    return tuple(
        Method(
            f"limsse_{loss}",
            f"LIMSSE ({loss})",
            limsse.limsse(loss),
            "min(6n - 15, limsse_samples)",
            f"{P18}, section 3.6",
            signed=True,
        )
        for loss in ("class", "logit", "probability")
    )


def zhao(name: str, title: str, converse, evaluations: str = "1", signed: bool = True, families=FAMILIES) -> Method:
    """A method of Zhao & Aletras: by their paper, or, where the title says so, by their released code."""
    where = "released code" if title.endswith("(released)") else "section 4.3"
    return Method(name, title, converse, evaluations, f"{Z23}, {where}", signed, families=families)


def faithful_and_released() -> tuple[Method, ...]:
    """The methods of Zhao & Aletras that have no other name, and what their released code makes of them."""
    weighed = {"families": ("transformer",)}  # no other family has weights of attention
    plain, path = "gradient_x_input", "integrated_gradients"
    return (
        zhao("attention", "Attention", attention.attention, signed=False, **weighed),
        zhao("scaled_attention", "Scaled attention", attention.scaled_attention, **weighed),
        zhao(
            "scaled_attention_squared",
            "Scaled attention (released)",
            attention.scaled_attention_squared,
            signed=False,
            **weighed,
        ),
        zhao(f"{plain}_absolute", "Gradient x Input (absolute)", erasable.gradient_x_input_absolute, signed=False),
        zhao(f"{plain}_shared", "Gradient x Input (released)", erasable.gradient_x_input_shared, signed=False),
        zhao(
            f"{path}_zero",
            "Integrated Gradients (from zero)",
            erasable.integrated_gradients_zero,
            "path_steps to path_steps_most, + 2",
        ),
        zhao(f"{path}_released", "Integrated Gradients (released)", erasable.integrated_gradients_released, "11"),
        zhao("deeplift_released", "DeepLIFT (released)", erasable.deeplift_released, **weighed),
    )


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("random", "Random", baseline.random, "0", "Zhao & Aletras 2023, section 4.2", signed=True),
        Method(
            "gradient_l1",
            "Gradient (L1)",
            gradient.gradient_l1,
            "1",
            "Simonyan et al. 2014; Kamp et al. 2023",
            signed=False,
        ),
        Method(
            "gradient_l2",
            "Gradient (L2)",
            gradient.gradient_l2,
            "1",
            "Simonyan et al. 2014; Poerner et al. 2018",
            signed=False,
        ),
        Method(
            "gradient_x_input", "Gradient x Input", gradient.gradient_x_input, "1", "Shrikumar et al. 2017", signed=True
        ),
        Method(
            "integrated_gradients",
            "Integrated Gradients",
            gradient.integrated_gradients,
            "path_steps to path_steps_most, + 2",
            "Sundararajan et al. 2017, eq. 1",
            signed=True,
        ),
        Method(
            "integrated_gradients_plain",
            "Integrated Gradients (plain)",
            gradient.integrated_gradients_plain,
            "path_steps to path_steps_most, + 2",
            "Kamp et al. 2023, IntGrad",
            signed=True,
        ),
        Method("occlusion_1", "Occlusion (1)", erasure.occlusion(1), "n + 1", "Zeiler & Fergus 2014", signed=True),
        Method("omission_1", "Omission (1)", erasure.omission(1), "n + 1", "Kadar et al. 2017", signed=True),
        Method("lime", "LIME", lime.lime, "min(L^2, lime_samples)", "Ribeiro et al. 2016", signed=True),
        Method(
            "partition_shap",
            "Partition SHAP",
            partition.partition_shap,
            "about min(2/3 n^2, shap_evaluations)",
            "Lundberg & Lee 2017; Kamp et al. 2023",
            signed=True,
        ),
        *gradients(),
        *wider_erasures(),
        *substring_surrogates(),
        Method("lrp", "LRP", relevance.lrp, "1", f"{P18}, section 3.2", signed=True, families=WORD_LEVEL),
        Method(
            "deeplift", "DeepLIFT", relevance.deeplift, "1", f"{P18}, section 3.3; captum for transformers", signed=True
        ),
        Method(
            "decomposition",
            "Cell decomposition",
            decomposition.decomposition,
            "1",
            "Murdoch & Szlam 2017; Poerner et al. 2018",
            signed=True,
            families=GATED,
        ),
        *faithful_and_released(),
        Method("last", "Last token", position.last, "0", f"{P18}, section 4.4", signed=True),
        *LEVELLED,
    )
}


def methods_for(family: str, level: str = "token") -> list[str]:
    """The methods of a level that apply to a family of models."""
    return [name for name, m in METHODS.items() if family in m.families and m.level == level]
