"""ferret (Attanasio et al. 2023): its AOPC metrics as they are and with tokens masked, and tau-LOO.

As they are, only tokens of positive scores are removed, and they are deleted. `all, masked` goes by
rank alone, as other libraries do, and puts the mask token in their place. Scores are raised above 0
for that: `only_pos=False` compares an array with `[]` (utils_from_soft_to_discrete.py, line 19),
which numpy 1.26.4 refuses.
"""

from dataclasses import replace

import numpy as np
from exported import Asked, Opened, Said, serve

MASKED = {
    "removal_args": {
        "remove_tokens": False,
        "based_on": "perc",
        "thresholds": np.arange(0.1, 1.1, 0.1),
    },
}


def make(world: Opened):
    """Ask the three faithfulness evaluators."""
    from ferret import (
        AOPC_Comprehensiveness_Evaluation,
        AOPC_Sufficiency_Evaluation,
        TauLOO_Evaluation,
    )
    from ferret.explainers.explanation import Explanation

    network = world.network
    tokenizer = world.tokenizer
    kinds = (
        AOPC_Comprehensiveness_Evaluation,
        AOPC_Sufficiency_Evaluation,
        TauLOO_Evaluation,
    )
    evaluators = [kind(network, tokenizer) for kind in kinds]

    def judge(one: Asked) -> Said:
        scores = np.array(one.scores)
        given = Explanation(one.text, one.words, scores, one.method, one.target)
        for evaluator in evaluators:
            name = evaluator.SHORT_NAME
            higher = not evaluator.BEST_SORTING_ASCENDING
            yield name, evaluator.compute_evaluation(given, one.target).score, higher
            if name.startswith("aopc"):
                raised = replace(given, scores=scores - scores.min() + 1)
                value = evaluator.compute_evaluation(raised, one.target, **MASKED).score
                yield f"{name} (all, masked)", value, higher

    return judge


if __name__ == "__main__":
    serve("ferret-xai", make)
