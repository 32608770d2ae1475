"""METHODS, the registry of explanation methods: the one place where a method gets its name and all its facts.

By what they ask of the model, methods are of five kinds: gradients with respect to what it reads; its answers to
perturbed texts (also those to which LIME, LIMSSE and Kernel SHAP fit a surrogate); its attention weights; a
propagation of the class score back through its layers (LRP, DeepLIFT, cell decomposition); nothing (baselines).
"""

from __future__ import annotations

from attreval.methods import (
    baselines,
    gradients,
    integrated_gradients,
    lime,
    lime_gaussian_process,
    limsse,
    lrp_deeplift,
    occlusion,
    partition_shap,
)
from attreval.methods.method import Method
from attreval.methods.registry_inside import INSIDE_METHODS, P18, PAPER, RELEASED, TRANSFORMER, Z23, of_poerner
from attreval.methods.registry_units import UNIT_METHODS

S17 = "Sundararajan et al. 2017"
PATH = ("path_steps", "path_steps_most")
PATH_COST = "path_steps to path_steps_most, + 2"


def _averaged_gradients() -> tuple[Method, ...]:
    """Those of the eight gradients of Poerner et al. that have no other name: gradient_l2 and gradient_x_input do."""
    return tuple(
        Method(
            f"gradient_{'integrated' if path else 'simple'}_{of}_{measure}",
            f"{'Integrated gradient' if path else 'Gradient'} of {of} ({measure.replace('l2', 'L2')})",
            gradients.averaged_gradient(path, of, measure),
            "riemann_steps" if path else "1",
            f"{P18}, section 3.1",
            "gradient",
            signed=measure == "dot",
            limits=("riemann_steps",) if path else (),
            in_papers=of_poerner(
                1 + 4 * (measure == "dot") + 2 * path + (of == "probability"),
                f"grad_{'int_' if path else '1'}{'s' if of == 'logit' else 'p'}_{measure.replace('l2', 'L2')}",
            ),
        )
        for path in (False, True)
        for of in ("logit", "probability")
        for measure in ("l2", "dot")
        if path or of == "probability"
    )


def _windows(word: str, sizes: tuple[int, ...]) -> tuple[Method, ...]:
    """Occlusion or omission of so many tokens at a time."""
    make, first, short = {"Omission": (occlusion.omission, 9, "omit"), "Occlusion": (occlusion.occlusion, 12, "occ")}[
        word
    ]
    single = {"Omission": "Kadar et al. 2017", "Occlusion": "Zeiler & Fergus 2014"}[word]
    return tuple(
        Method(
            f"{word.lower()}_{size}",
            f"{word} ({size})",
            make(size),
            "n + 1" if size == 1 else f"n - {size - 2}",
            single if size == 1 else f"{P18}, 3.5",
            "perturbation",
            in_papers=of_poerner(first + (1, 3, 7).index(size), f"{short}_{size}"),
        )
        for size in sizes
    )


def _limsse() -> tuple[Method, ...]:
    """LIMSSE with its three losses."""
    return tuple(
        Method(
            f"limsse_{loss}",
            f"LIMSSE ({loss})",
            limsse.limsse(loss),
            "min(6n - 15, limsse_samples)",
            f"{P18}, section 3.6",
            "perturbation",
            limits=("limsse_samples",),
            stochastic=True,
            in_papers=of_poerner(18 + at, f"limsse_{name}"),
        )
        for at, (loss, name) in enumerate((("class", "bb"), ("logit", "ms_s"), ("probability", "ms_p")))
    )


_LIST = (
    Method("random", "Random", baselines.random, "0", f"{Z23}, section 4.2", "baseline", stochastic=True),
    Method(
        "gradient_l1",
        "Gradient (L1)",
        gradients.gradient_l1,
        "1",
        "Simonyan et al. 2014; Kamp et al. 2023",
        "gradient",
        signed=False,
        in_papers={"kamp2023": (3, "VanillaGradient")},
    ),
    Method(
        "gradient_l2",
        "Gradient (L2)",
        gradients.gradient_l2,
        "1",
        f"Simonyan et al. 2014; {P18}",
        "gradient",
        signed=False,
        in_papers=of_poerner(1, "grad_1s_L2"),
    ),
    Method(
        "gradient_x_input",
        "Gradient x Input",
        gradients.gradient_x_input,
        "1",
        "Shrikumar et al. 2017",
        "gradient",
        in_papers=of_poerner(5, "grad_1s_dot") | {"kamp2023": (4, "GradientXInput")},
    ),
    Method(
        "integrated_gradients",
        "Integrated Gradients",
        integrated_gradients.integrated_gradients,
        PATH_COST,
        f"{S17}, eq. 1",
        "gradient",
        limits=PATH,
        in_papers={"kamp2023": (6, "IntegratedGradientXInput"), "sun2024": (9, "gradients token")},
    ),
    Method(
        "integrated_gradients_plain",
        "Integrated Gradients (plain)",
        integrated_gradients.integrated_gradients_plain,
        PATH_COST,
        "Kamp et al. 2023, IntGrad",
        "gradient",
        limits=PATH,
        in_papers={"kamp2023": (5, "IntegratedGradient")},
    ),
    *_windows("Occlusion", (1,)),
    *_windows("Omission", (1,)),
    Method(
        "lime",
        "LIME",
        lime.lime,
        "min(L^2, lime_samples)",
        "Ribeiro et al. 2016",
        "perturbation",
        sampled=True,
        limits=("lime_samples",),
        stochastic=True,
        in_papers={"kamp2023": (2, "LIME")},
    ),
    Method(
        "lime_gaussian_process",
        "LIME (Gaussian process)",
        lime_gaussian_process.lime_gaussian_process,
        "64 to min(L^2, lime_samples)",
        "ours: the limit of Ribeiro et al. 2016 by Bayesian quadrature",
        "perturbation",
        sampled=True,
        limits=("lime_samples",),
        stochastic=True,
    ),
    Method(
        "partition_shap",
        "Partition SHAP",
        partition_shap.partition_shap,
        "about min(2/3 n^2, shap_evaluations)",
        "Lundberg & Lee 2017; Kamp et al. 2023",
        "perturbation",
        sampled=True,
        limits=("shap_evaluations",),
        stochastic=True,
        in_papers={"kamp2023": (1, "PartitionSHAP")},
    ),
    *_averaged_gradients(),
    *_windows("Occlusion", (3, 7)),
    *_windows("Omission", (3, 7)),
    *_limsse(),
    *INSIDE_METHODS,
    Method(
        "gradient_x_input_absolute",
        "Gradient x Input (absolute)",
        gradients.gradient_x_input_absolute,
        "1",
        PAPER,
        "gradient",
        signed=False,
        in_papers={"zhao2023": (3, "InputXGrad")},
    ),
    Method(
        "gradient_x_input_shared",
        "Gradient x Input (released)",
        gradients.gradient_x_input_shared,
        "1",
        RELEASED,
        "gradient",
        signed=False,
    ),
    Method(
        "integrated_gradients_zero",
        "Integrated Gradients (from zero)",
        integrated_gradients.integrated_gradients_zero,
        PATH_COST,
        PAPER,
        "gradient",
        limits=PATH,
        in_papers={"zhao2023": (4, "IG")},
    ),
    Method(
        "integrated_gradients_released",
        "Integrated Gradients (released)",
        integrated_gradients.integrated_gradients_released,
        "11",
        RELEASED,
        "gradient",
    ),
    Method(
        "deeplift_released",
        "DeepLIFT (released)",
        lrp_deeplift.deeplift_released,
        "1",
        RELEASED,
        "propagation",
        families=TRANSFORMER,
        lacking="the released code explains encoders, by captum",
    ),
    Method("last", "Last token", baselines.last_token, "0", f"{P18}, section 4.4", "baseline"),
    *UNIT_METHODS,
)
METHODS: dict[str, Method] = {method.name: method for method in _LIST}


def methods_for(family: str, level: str = "token") -> list[str]:
    """The methods of a level that apply to a family of models; none that requires what is not installed."""
    return [name for name, m in METHODS.items() if family in m.families and m.level == level and not m.missing()]


def methods_in(paper: str) -> dict[str, str]:
    """A paper's names of methods, in its own order, and ours: {"LIME": "lime", ...}."""
    named = sorted((*m.in_papers[paper], m.name) for m in METHODS.values() if paper in m.in_papers)
    return {theirs: ours for _, theirs, ours in named}
