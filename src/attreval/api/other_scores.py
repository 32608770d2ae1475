"""Scores that max-sensitivity and parameter randomisation compare with those that are judged.

Of each text the same methods explain the same class again, of texts in which one token is masked,
or of models whose weights are shuffled layer by layer. `evaluate` takes what comes back as
`neighbours=` and `randomised=`. Letters used for shapes: n content tokens, k neighbours, l models.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from attreval.api.explaining import explained_model, find_budget
from attreval.api.explanation import Explanation
from attreval.api.explanations import Explanations
from attreval.core.records import Cost, Tokens
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.methods.method import Budget
from attreval.methods.run import attribution
from attreval.models.classifier import Classifier
from attreval.models.questions import choose_start
from attreval.models.scorer import Scorer

Others = list[dict[str, np.ndarray]]


def explain_neighbours(
    model: Classifier,
    explanations: Explanations,
    count: int = 4,
    budget: Budget | None = None,
    seed: int = 0,
) -> Others:
    """Scores of each text with one token masked, drawn several times.

    A neighbour costs what an explanation does. Methods that METHODS does not hold are left out.

    Args:
        model: the one that was explained.
        explanations: of the texts.
        count: neighbours of a text; one of fewer tokens has each masked once.
        budget: what methods may spend.
        seed: of the tokens that are masked, and of the methods.

    Returns:
        Of each text, by method, (k, n) scores of k neighbours.
    """
    out = []
    for one in explanations:
        rng = generator("neighbours", seed, one.instance.id)
        near = []
        for at in rng.permutation(one.tokens.content)[:count]:
            ids = one.tokens.ids.copy()
            ids[at] = one.tokens.mask_id
            near.append(replace(one.tokens, ids=ids))
        out.append(_score(model, explanations, one, near, budget, ("neighbour", seed)))
    return out


def explain_randomised(
    model: Classifier,
    explanations: Explanations,
    layers: int = 4,
    budget: Budget | None = None,
    seed: int = 0,
) -> Others:
    """Scores by models whose weights are shuffled, from the last layers down to all.

    Args:
        model: the one that was explained.
        explanations: of the texts.
        layers: groups that the network's modules are parted into; the first model has the last
            group's weights shuffled, each within its own tensor, the second those of the last two,
            and so on.
        budget: what methods may spend.
        seed: of the shuffled weights, and of the methods.

    Returns:
        Of each text, by method, (l, n) scores by l models.

    Raises:
        ValueError: a model without a network.
    """
    if not hasattr(model, "network"):
        raise ValueError("weights are drawn anew of a network; this model is a function of texts")
    found = []
    for depth in range(1, layers + 1):
        other = shuffle_weights(model, depth / layers, seed)
        names = ("randomised", seed, depth)
        found.append(
            [_score(other, explanations, one, [one.tokens], budget, names) for one in explanations]
        )
    return [
        {m: np.concatenate([of[at][m] for of in found]) for m in found[0][at]}
        for at in range(len(explanations))
    ]


def shuffle_weights(model: Any, share: float, seed: int = 0) -> Any:
    """A copy of a model in which the last share of modules has shuffled weights."""
    other = copy.copy(model)
    other.network = copy.deepcopy(model.network)
    if hasattr(other, "copies"):
        other.copies = {}
    holders = [
        module for module in other.network.modules() if list(module.parameters(recurse=False))
    ]
    rng = generator("shuffled", seed)
    with torch.no_grad():
        for module in holders[::-1][: round(share * len(holders))]:
            for weights in module.parameters(recurse=False):
                order = torch.from_numpy(rng.permutation(weights.numel())).to(weights.device)
                weights.copy_(weights.flatten()[order].view_as(weights))
    return other


def _score(
    model: Classifier,
    explanations: Explanations,
    one: Explanation,
    texts: Sequence[Tokens],
    budget: Budget | None,
    names: tuple,
) -> dict[str, np.ndarray]:
    """By method the scores of several readings of one text, for the class that was explained."""
    model = explained_model(model, explanations)
    scorer = Scorer(model)
    spending = find_budget(budget, None, one.unit)
    target = explanations.labels.index(one.target)
    if spending.path_baseline == "auto":
        start = choose_start(model, one.tokens)
        spending = spending.changed(path_baseline=start)
    out = {}
    for method in explanations.methods:
        if method not in METHODS or METHODS[method].given is not None:
            continue
        talks = []
        for at, tokens in enumerate(texts):
            rng = generator(*names, one.instance.id, method, at)
            talks.append((method, METHODS[method].converse(tokens, target, spending, rng)))
        rows = []
        for scores in scorer.converse(talks):
            made = attribution(one.instance, one.tokens, method, target, scores, Cost())
            rows.append(made.on_content(one.tokens))
        out[method] = np.array(rows)
    return out
