"""Write attributions.json: what every method gives on the tiny model, in float64. For changes that are meant:

PYTHONPATH=src:tests python tests/golden/make.py
"""

from pathlib import Path

from reference.models import sample_instances, tiny_model

from attreval.explain import METHODS
from attreval.explain.method import Budget
from attreval.explain.run import explain
from attreval.models.scorer import Scorer
from attreval.tables import write_json

PATH = Path(__file__).with_name("attributions.json")
BUDGET = Budget(path_steps=20, path_steps_most=20, lime_samples=100)


def compute() -> dict:
    """Instance id -> tokens, probabilities, and scores by method."""
    models = {"normed": tiny_model(), "unnormed": tiny_model(normed=False)}
    return {
        f"{name}.{e.instance.id}": {
            "tokens": list(e.tokens.texts),
            "probabilities": e.probabilities.tolist(),
            "scores": {m: a.scores.tolist() for m, a in e.attributions.items()},
        }
        for name, model in models.items()
        for e in explain(Scorer(model, precision="float64"), sample_instances(), list(METHODS), BUDGET, ("golden",))
    }


if __name__ == "__main__":
    write_json(PATH, compute())
    print(f"wrote {PATH.name}")
