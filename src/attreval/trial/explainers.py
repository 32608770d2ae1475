"""Explanations beside the truth: wrong, misleading, degraded, rescaled, and real methods' own.

Letters used for shapes: n content tokens, P pairs, k neighbours.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attreval.core.seeds import Rng, generator
from attreval.methods import METHODS as KNOWN
from attreval.methods.method import Budget
from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer
from attreval.trial.exact import erase_each
from attreval.trial.trained import neighbour, randomise
from attreval.trial.world import Made, WorldText

PLAIN = {
    "oracle": "the true importances",
    "random": "random scores",
    "constant": "all alike",
    "reversed": "the true importances with the opposite sign",
    "adversarial": "the right token first, the rest from worst to best",
    "leaking": "names the class by the place of its one mark: the first token, or the last",
}
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
DEGRADED = {f"degraded_{share:.1f}": share for share in SHARES}
FEW = 3  # tokens that a truth cut short keeps
EXPLAINERS = PLAIN | {
    "decoy": "looks right and is not: what the world says a person, or another model, would mark",
    "scaled": "the true importances times ten",
    "sparse": f"the {FEW} largest true importances, all others nothing",
    **{
        name: f"the truth mixed with noise, {share:.0%} of it noise"
        for name, share in DEGRADED.items()
    },
}
MISLEADING = ("adversarial", "leaking", "decoy")
# their scores, or the ties in them, are drawn
DRAWN = ("random", "constant", "adversarial", "reversed", "leaking")
# real ones, cheap and for all families
METHODS = ("gradient_x_input", "integrated_gradients", "occlusion_1", "lime")
BUDGET = Budget(path_steps=8, path_steps_most=64, lime_samples=100, path_baseline="mask")
NEIGHBOURS = 3
Scores = dict[str, list[np.ndarray]]  # explainer -> (n,) of each text


def explain_as(
    explainer: str,
    text: WorldText,
    level: str = "token",
    draw: object = 0,
    truth: np.ndarray | None = None,
) -> np.ndarray:
    """(n,) scores of tokens, or (P,) of pairs, by one of EXPLAINERS.

    Args:
        explainer: its name.
        text: of a world.
        level: `token` or `pair`.
        draw: another gives other random scores.
        truth: what counts as true, where it is not the text's.

    Raises:
        ValueError: another name, or pairs where no two tokens do anything together.
    """
    truth = _truth_of(text, level) if truth is None else truth
    truth = np.asarray(truth, dtype=float)
    n = len(truth)
    scaled = {"oracle": 1, "reversed": -1, "scaled": 10}
    if explainer in scaled:
        return scaled[explainer] * truth
    if explainer == "constant":
        return np.ones(n)
    rng = generator("explainer", explainer, text.id, level, draw)
    if explainer == "random":
        return rng.standard_normal(n)
    if explainer == "adversarial":
        return _best_then_worst(truth, rng)
    if explainer == "leaking":
        scores = np.zeros(n)
        scores[0 if text.target % 2 else -1] = 1.0
        return scores
    if explainer == "sparse":
        rank = np.argsort(np.argsort(-truth, kind="stable"))
        return np.where(rank < FEW, truth, 0.0)
    if explainer in DEGRADED:  # one noise for all shares, of the truth's own size
        noise = generator("noise", text.id, level, draw).standard_normal(n)
        share = DEGRADED[explainer]
        return (1 - share) * truth + share * (noise * (truth.std() or 1.0))
    if explainer == "decoy" and text.decoy is not None and level == "token":
        return text.decoy
    raise ValueError(f"unknown explainer {explainer!r}; there are: {', '.join(EXPLAINERS)}")


def _truth_of(text: WorldText, level: str) -> np.ndarray:
    truth = text.truth if level == "token" else text.pair_truth
    if truth is None:
        raise ValueError(
            f"in the world {text.world!r} no two tokens do anything together; level pair needs "
            "interaction"
        )
    return truth


def _best_then_worst(truth: np.ndarray, rng: Rng) -> np.ndarray:
    """(n,) scores that put the truest first, and then all others from the worst to the best."""
    order = np.lexsort((rng.random(len(truth)), -truth))  # by falling truth, ties at random
    scores = np.empty(len(truth))
    scores[order] = np.linspace(0.0, 0.9, len(truth))
    scores[order[0]] = 1.0
    return scores


def there_is(explainer: str, made: Made, level: str = "token") -> bool:
    """Whether a world has an explainer: decoys and pairs are not in all of them."""
    text = made.texts[0]
    if level == "pair":
        return explainer != "decoy" and text.pair_truth is not None
    return explainer != "decoy" or text.decoy is not None


def real_methods() -> list[str]:
    """Those of METHODS whose packages are here."""
    return [name for name in METHODS if not KNOWN[name].missing()]


def explain_really(made: Made, methods: Sequence[str]) -> Scores:
    """The scores of real methods for the classes that the texts are of."""
    instances = [text.instance for text in made.texts]
    scorer = Scorer(made.model, 16384, "float64")
    together = len(instances) or 1
    found = explain_instances(
        scorer, instances, methods, BUDGET, ("trial",), target="gold", group=together
    )
    scores: Scores = {name: [] for name in methods}
    for one, text in zip(found, made.texts, strict=True):
        for name in methods:
            scores[name].append(one.attributions[name].on_content(text.tokens))
    return scores


def around(made: Made, methods: Sequence[str]) -> dict[str, list[Any]]:
    """Scores of disturbed texts (`neighbours`) and of networks with fresh layers (`randomised`).

    Of stand-ins the truth stays the same in a disturbed text, and where weights are randomised it
    is what erasing each word alone does to the randomised network.

    Args:
        made: the world.
        methods: real ones that explain as well.

    Returns:
        For each of both names a list, a text an entry, of explainer -> (k, n) or (layers, n). Empty
        where the network was not trained.
    """
    if not made.network:
        return {}
    out: dict[str, list[Any]] = {}
    disturbed = [neighbour(made.model, number) for number in range(NEIGHBOURS)]
    for field, models in (("neighbours", disturbed), ("randomised", randomise(made.model))):
        found = []
        for number, model in enumerate(models):
            scores = explain_really(Made(model, made.texts, True), methods)
            scores |= {who: [] for who in EXPLAINERS if there_is(who, made)}
            for text in made.texts:
                truth = None
                if field == "randomised":  # by how much a token, erased alone, lowers the class
                    p = erase_each(model, text.tokens)[:, text.target]
                    truth = p[0] - p[1:]
                for who in EXPLAINERS:
                    if who in scores:
                        scores[who].append(explain_as(who, text, draw=(field, number), truth=truth))
            found.append(scores)
        out[field] = []
        for at in range(len(made.texts)):
            near = {name: np.stack([scores[name][at] for scores in found]) for name in found[0]}
            out[field].append(near)
    return out
