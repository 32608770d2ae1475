"""Write attributions.json: what every method gives on the tiny models, in float64. For changes that are meant:

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
from attreval.methods.run import explain
from attreval.models.scorer import Scorer

PATH = Path(__file__).with_name("attributions.json")
SIZES = {"path_steps": 20, "path_steps_most": 20, "lime_samples": 100, "riemann_steps": 10, "limsse_epochs": 100}
CLOSE = {"lime_gaussian_process": 1e-3}  # its kernel is found by an optimiser, whose last digits are the machine's
BUDGET = Budget(**SIZES, units=UnitSettings(shapley_samples=100))


def models() -> dict:
    """Name -> model."""
    made = {name: tiny_words(name, bidirectional=name != "cnn") for name in ARCHITECTURES}
    return {"normed": tiny_model(), "unnormed": tiny_model(normed=False)} | made


def compute() -> dict:
    """Model and instance id -> tokens, probabilities, and scores by method; but for the first model two texts do."""
    found = {}
    for name, model in models().items():
        texts = sample_instances()[: 4 if name == "normed" else 2]
        scorer = Scorer(model, precision="float64")
        for e in explain(scorer, texts, methods_for(model.family), BUDGET, ("golden",)):
            found[f"{name}.{e.instance.id}"] = {
                "tokens": list(e.tokens.texts),
                "probabilities": e.probabilities.tolist(),
                "scores": {m: a.scores.tolist() for m, a in e.attributions.items()},
            }
    return found


def is_close(method: str, now: list[float], kept: list[float]) -> bool:
    """Whether two lists of numbers of a method (empty: of the model) are the same but for a machine's last digits."""
    near = CLOSE.get(method, 1e-8)
    return len(now) == len(kept) and np.allclose(now, kept, rtol=near, atol=near)


def keep_close(found: dict, kept: dict) -> dict:
    """What was found, with the kept numbers wherever they are close: a change shows what it changed."""
    for name, one in found.items():
        scores = kept.get(name, {}).get("scores", {})
        one["scores"] |= {m: scores[m] for m, now in one["scores"].items() if is_close(m, now, scores.get(m, []))}
        if is_close("", one["probabilities"], old := kept.get(name, {}).get("probabilities", [])):
            one["probabilities"] = old
    return found


if __name__ == "__main__":
    write_json(PATH, keep_close(compute(), json.loads(PATH.read_text(encoding="utf-8"))))
    print(f"wrote {PATH.name}")
