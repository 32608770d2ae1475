"""Write attributions.json: what every method gives on the tiny models, in float64. For changes that
are meant:

PYTHONPATH=src:tests python tests/golden/make.py
"""

import json
from pathlib import Path

import numpy as np
from reference.models import sample_instances, tiny_model
from reference.words import ARCHITECTURES, tiny_words

from attreval.core.tables import write_json
from attreval.methods import methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer

PATH = Path(__file__).with_name("attributions.json")
SIZES = {
    "path_steps": 20,
    "path_steps_most": 20,
    "lime_samples": 100,
    "riemann_steps": 10,
    "limsse_epochs": 100,
}
# its kernel is found by an optimiser, whose last digits are the machine's
CLOSE = {"lime_gaussian_process": 1e-3}
BUDGET = Budget(**SIZES, units=UnitSettings(shapley_samples=100))


def models() -> dict:
    """Name -> model."""
    made = {name: tiny_words(name, bidirectional=name != "cnn") for name in ARCHITECTURES}
    return {"normed": tiny_model(), "unnormed": tiny_model(normed=False)} | made


def compute() -> dict:
    """Model and instance id -> tokens, probabilities, and scores by method; but for the first model
    two texts do.
    """
    found = {}
    for name, model in models().items():
        texts = sample_instances()[: 4 if name == "normed" else 2]
        scorer = Scorer(model, precision="float64")
        for e in explain_instances(scorer, texts, methods_for(model.family), BUDGET, ("golden",)):
            found[f"{name}.{e.instance.id}"] = {
                "tokens": list(e.tokens.texts),
                "probabilities": e.probabilities.tolist(),
                "scores": {m: a.scores.tolist() for m, a in e.attributions.items()},
            }
    return found


def keep_close(now: list[float], kept: list[float] | None, near: float = 1e-8) -> list[float]:
    """The kept numbers if only a machine's last digits differ, else those of now: a change shows
    what it changed.
    """
    return (
        kept
        if kept and len(now) == len(kept) and np.allclose(now, kept, rtol=near, atol=near)
        else now
    )


def keep_all_close(found: dict, kept: dict) -> dict:
    """As `keep_close`, of all that was found."""
    for name, one in found.items():
        old = kept.get(name, {"probabilities": None, "scores": {}})
        one["probabilities"] = keep_close(one["probabilities"], old["probabilities"])
        for method, scores in one["scores"].items():
            one["scores"][method] = keep_close(
                scores, old["scores"].get(method), CLOSE.get(method, 1e-8)
            )
    return found


if __name__ == "__main__":
    write_json(PATH, keep_all_close(compute(), json.loads(PATH.read_text(encoding="utf-8"))))
    print(f"wrote {PATH.name}")
