"""Which method is meant: the names of METHODS, their titles, and what other libraries call them."""

import re
from collections.abc import Iterable

from attreval.core.nearest import nearest
from attreval.methods import METHODS, methods_for
from attreval.models.outputs import why_not

DEFAULT = ("gradient_x_input", "integrated_gradients", "occlusion_1", "lime")
ALIASES = {
    "ig": "integrated_gradients",
    "intgrad": "integrated_gradients",
    "shap": "partition_shap",  # what shap.Explainer takes for texts
    "shapley": "kernel_shap",
    "occlusion": "occlusion_1",
    "featureablation": "occlusion_1",
    "omission": "omission_1",
    "leaveoneout": "omission_1",
    "loo": "omission_1",
    "limsse": "limsse_class",
    "gradient": "gradient_l2",
    "saliency": "gradient_l1",
    "inputxgradient": "gradient_x_input",
    "inputxgrad": "gradient_x_input",
    "gradientinput": "gradient_x_input",
    "gxi": "gradient_x_input",
    "celldecomposition": "decomposition",
    "attnlrp": "lrp",
    "rollout": "attention_rollout",
}


def plain(name: str) -> str:
    """A name without case, dashes, underscores, brackets and spaces."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def find_methods(
    names: str | Iterable[str] | None, family: str | None = None, outputs: str = "classes"
) -> list[str]:
    """The names of METHODS that are meant, each once, in the order asked for.

    Args:
        names: one or several, with commas between them too, in any case, or as another library
            calls the method; `all` is every method that scores tokens; None takes DEFAULT.
        family: of the model, where it is known.
        outputs: what the model's are.

    Raises:
        ValueError: an unknown name, told with the nearest, or a method that does not apply to the
            family or the outputs.
    """
    from attreval.methods.run import pick_methods

    usual = [name for name in DEFAULT if family is None or family in METHODS[name].families]
    asked = [names] if isinstance(names, str) else list(usual if names is None else names)
    if wrong := [one for one in asked if not isinstance(one, str)]:
        raise ValueError(f"a method is asked for by its name; got {wrong[0]!r}")
    known = known_names()
    parts = []
    for one in asked:  # some titles hold a comma
        parts += [one] if plain(one) in known else one.split(",")
    found = []
    for part in filter(str.strip, parts):
        if plain(part) != "all":
            found.append(_find_method(part.strip(), known))
        elif family:
            found += [m for m in methods_for(family) if not why_not(METHODS[m].outputs, outputs)]
        else:
            found += [name for name, method in METHODS.items() if method.level == "token"]
    if not found:
        raise ValueError("no method is named; `attreval list methods` lists them")
    return pick_methods(list(dict.fromkeys(found)), family, outputs)


def asks_for_all(names: str | Iterable[str] | None) -> bool:
    """Whether `all` is among the names: then what does not apply is left out, and no error."""
    asked = [names] if isinstance(names, str) else names or []
    return any(plain(part) == "all" for name in asked for part in name.split(","))


def known_names() -> dict[str, str]:
    """What a method may be called, as `plain` writes it -> its name in METHODS."""
    return (
        {plain(m.title): m.name for m in METHODS.values()}
        | ALIASES
        | {plain(m): m for m in METHODS}
    )


def _find_method(name: str, known: dict[str, str]) -> str:
    """One name of METHODS. ValueError for an unknown one."""
    if plain(name) in known:
        return known[plain(name)]
    raise ValueError(
        f"unknown method {name!r}; `attreval list methods` lists all {len(METHODS)}"
        f"{nearest(name, METHODS)}"
    )
