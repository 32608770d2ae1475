"""Made-up texts as the explorer is given them: scores with ties, marks, evidence, pairs and spans,
metrics.
"""

from __future__ import annotations

import numpy as np

from attreval.core.alignment import tokenize
from attreval.methods import METHODS
from attreval.metrics import STORED
from compendium.explorer.read import ExplainedText
from reference.models import instance, tiny_tokenizer

HOSTILE = (
    'the film </script><script>window.hacked = 1</script> was <b>good</b> & "slow" <img src=x '
    "onerror=hack()>"
)
TASKS = {"snli": ("a very good film.", "the plot was slow, not brave!"), "rated_movies": (HOSTILE,)}
PLAIN = ("random", "gradient_l1", "gradient_x_input", "lime", "partition_shap")
ABOUT = {"profile": "made-up", "attreval": "0", "commit": "0123456789ab", "date": "2001-02-03"}


def draw_scores(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """(n,) scores by method: distinct ones, ties at every border, a constant, and sizes that differ
    by powers.
    """
    kinds = (
        rng.standard_normal(n),
        np.abs(rng.integers(0, 3, n).astype(float)),
        rng.standard_normal(n) * 10.0 ** -rng.integers(0, 12, n),
        rng.integers(-2, 3, n) / 7,
        np.full(n, 0.25),
    )
    return dict(zip(PLAIN, kinds, strict=True))


def make_text(
    task: str, number: int, segments: tuple[str, ...] = (), model: str = "tiny", linked: bool = True
) -> ExplainedText:
    """One text of a task, drawn by its number; linked: with pairs and spans, where it has two
    parts.
    """
    rng = np.random.default_rng(number)
    one = instance(*(segments or TASKS[task]), name=f"{task}/{number}", label=1)
    tokens = tokenize(one, tiny_tokenizer(), 512)
    n = len(tokens.content)
    scores = draw_scores(n, rng)
    features = {}
    if len(one.segments) == 2 and linked:
        border = int((tokens.offsets[tokens.content, 0] == 0).sum())
        features["bivariate_shapley"] = [(((i,), (border + i,)), 1.0 / (i + 1)) for i in range(3)]
        features["bivariate_shapley_spans"] = [
            (((0, 1), (border, border + 1)), 0.5),
            (((2,), (n - 1,)), -0.25),
        ]
        scores |= {m: rng.standard_normal(n) for m in features}
    marks = (rng.random((3, n)) < 0.3).astype(float) if task == "rated_movies" else np.zeros((0, n))
    values = {
        name: {method: float(rng.random()) for method in scores}
        for name, m in STORED.items()
        if m.judge == "faithfulness"
    }
    return ExplainedText(
        (task, model, 1),
        one,
        tokens,
        target=1,
        predicted=0,
        probability=0.5 + rng.random() / 2,
        scores={m: scores[m] for m in METHODS if m in scores},
        features=features,
        marks=marks,
        evidence={"hit_target": np.arange(n) == 1} if task == "snli" else {},
        metrics=values | {"complexity": {"bivariate_shapley": 0.75}},
        text_agreement={"methods": 0.5},
    )
