"""The list of explanation methods: the one place where a method gets its name."""

from __future__ import annotations

from attreval.explain import baseline, erasure, gradient, lime
from attreval.explain.method import Method

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
    )
}
