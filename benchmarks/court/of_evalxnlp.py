"""EvalxNLP (Dhaini et al. 2025), from the folder that EVALXNLP names: no registry carries it.

Its explanations have scores of [CLS] and [SEP] as well: 0, as its LIME and SHAP give them. The
direction of each metric is that of the arrow in its name.
"""

import os
import sys

import numpy as np
from exported import Asked, Opened, Said, serve


def make(world: Opened):
    """Ask the evaluators that need no human rationale."""
    sys.path.insert(0, os.environ["EVALXNLP"])
    from evaluators import (
        AUCTPEvaluator,
        ComplexityEvaluator,
        FADEvaluator,
        SoftComprehensivenessEvaluator,
        SoftSufficiencyEvaluator,
        SparsenessEvaluator,
    )
    from explanation import Explanation

    network = world.network
    tokenizer = world.tokenizer
    kinds = (
        SoftComprehensivenessEvaluator,
        SoftSufficiencyEvaluator,
        AUCTPEvaluator,
        FADEvaluator,
        SparsenessEvaluator,
        ComplexityEvaluator,
    )
    evaluators = [kind(network, tokenizer) for kind in kinds]

    def judge(one: Asked) -> Said:
        scores = np.array([0.0, *one.scores, 0.0], dtype=np.float32)
        tokens = [tokenizer.cls_token, *one.words, tokenizer.sep_token]
        for evaluator in evaluators:
            name, arrow = evaluator.NAME.rsplit(" ", 1)
            given = Explanation(one.text, tokens, scores, one.method, one.target)
            yield name.lower(), float(np.squeeze(evaluator.compute(given))), arrow == "↑"

    return judge


if __name__ == "__main__":
    serve("EvalxNLP", make)
