"""Four ways to judge token attributions of text classifiers, implemented and compared.

import attreval as av

model = av.load("path/to/model")
found = av.explain(model, ["the film was good ."], methods=["lime", "integrated_gradients"])
av.evaluate(model, found)
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# read when first asked for, so that importing the package loads neither torch nor transformers
_PLACES = {
    "load": "attreval.api.loading",
    "wrap": "attreval.api.loading",
    "explain": "attreval.api.explaining",
    "evaluate": "attreval.api.evaluating",
    "evaluate_texts": "attreval.evaluation.run",
    "diff": "attreval.evaluation.difference",
    "Explanation": "attreval.api.explanation",
    "Explanations": "attreval.api.explanations",
}
__all__ = [
    "Explanation",
    "Explanations",
    "__version__",
    "diff",
    "evaluate",
    "evaluate_texts",
    "explain",
    "load",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"attreval has no {name!r}; there are: {', '.join(_PLACES)}")
    found = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
