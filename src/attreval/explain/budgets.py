"""What does a method that samples spend, and how is it told to spend more or less?"""

from __future__ import annotations

from collections.abc import Callable

from attreval.explain.method import Budget


def limit(*fields: str) -> Callable[[Budget, int], Budget]:
    """A budget whose fields all hold the given number."""
    return lambda budget, size: budget.changed(**dict.fromkeys(fields, size))


def limit_coalitions(budget: Budget, size: int) -> Budget:
    """A budget of so many coalitions of single tokens."""
    return budget.changed(units=budget.units.changed(unit="subword", shapley_samples=size))


NODES = limit("path_steps", "path_steps_most")  # a fixed number: else the method doubles them until it is content
DRAWS_NOTHING = ("integrated_gradients", "integrated_gradients_zero")
LIMITS: dict[str, Callable[[Budget, int], Budget]] = {
    "lime": limit("lime_samples"),
    "kernel_shap": limit_coalitions,
    "partition_shap": limit("shap_evaluations"),
    **{f"limsse_{loss}": limit("limsse_samples") for loss in ("class", "logit", "probability")},
    "integrated_gradients": NODES,
    "integrated_gradients_zero": NODES,
}
