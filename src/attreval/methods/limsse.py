"""LIMSSE (Poerner et al. 2018, section 3.6): a linear surrogate over the words of short substrings.

The classifier reads every substring of one to six tokens on its own, and a linear model over the tokens' presence is
fitted to its answers. As in the released code all substrings are read where there are at most `limsse_samples` of them,
and the fit is that code's: full-batch descent with momentum and an L1 penalty, which the paper does not mention.
The start is drawn from the same distribution as the code's, but is not the code's: Keras derives other numbers from the
seed. Where descent converges, this decides nothing. On short texts the class loss does not, in the code's 1,000 steps:
the top word of one agreement sentence in eight changes with more of them (docs/decisions.md), and it depends on the
start. `limsse_solver: exact` takes no steps.
A transformer keeps its special tokens around a substring. Where the penalty holds a weight at 0, descent oscillates
around it by up to RATE * PENALTY / (1 - MOMENTUM) = 0.001: float32 scores of one text may differ by as much between
batches. `limsse_solver: exact` has no penalty.
Letters used for shapes: n content tokens, w substrings.
"""

from __future__ import annotations

import numpy as np

from attreval.core.records import Tokens
from attreval.core.seeds import generator
from attreval.methods.descent import LONGEST, Descent
from attreval.methods.method import Budget, Method, Rng, Scores, method
from attreval.models.questions import Conversation, Evaluate, softmax

RIDGE = 1e-6


def draw_substrings(n: int, samples: int, how: str, rng: Rng) -> np.ndarray:
    """(w, 2) starts and ends, exclusive, in order of length.

    how: `exhaustive` takes each substring once, or a random subset where there are more than `samples`; `random`, as
    the paper says, draws length and start uniformly, with replacement.
    """
    longest = min(LONGEST, n)
    if how == "random":
        lengths = rng.integers(1, longest, size=samples, endpoint=True)
        starts = rng.integers(0, n - lengths, endpoint=True)
        drawn = np.stack([starts, starts + lengths], axis=1)
        return drawn[np.lexsort((starts, lengths))]
    every = [(start, start + length) for length in range(1, longest + 1) for start in range(n - length + 1)]
    drawn = np.array(every)
    if len(drawn) > samples:
        drawn = drawn[np.sort(rng.choice(len(drawn), samples, replace=False))]
    return drawn


def _read_substrings(tokens: Tokens, cuts: np.ndarray) -> Conversation:
    """Ask for the (w, K) logits of each substring; those of one length share a question."""
    special, lengths, logits = np.flatnonzero(tokens.special), cuts[:, 1] - cuts[:, 0], []
    for length in np.unique(lengths):
        windows = tokens.content[cuts[lengths == length, :1] + np.arange(length)]
        around = np.broadcast_to(special, (len(windows), len(special)))
        kept = np.sort(np.concatenate([around, windows], axis=1), axis=1)
        logits.append((yield Evaluate(tokens.ids[kept], tokens.segments[kept])))
    return np.concatenate(logits)


def logistic(a: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-a)), without overflow."""
    return np.exp(-np.logaddexp(0, -a))


def _fit_exactly(cuts: np.ndarray, n: int, values: np.ndarray, classify: bool) -> np.ndarray:
    """(n,) weights that minimise the mean loss without the L1 penalty, with a ridge of 1e-6."""
    inside = (cuts[:, :1] <= np.arange(n)) & (np.arange(n) < cuts[:, 1:])
    design = inside.astype(float)
    if not classify:
        gram = design.T @ design / len(cuts) + RIDGE * np.eye(n)
        return np.linalg.solve(gram, design.T @ values / len(cuts))
    from scipy.optimize import minimize  # slow to import, and the list of methods is read by every command

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        sums = design @ weights
        mean = np.mean(np.logaddexp(0, sums) - values * sums) + RIDGE * weights @ weights
        return mean, design.T @ (logistic(sums) - values) / len(cuts) + 2 * RIDGE * weights

    return minimize(loss, np.zeros(n), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9}).x


def limsse(loss: str, name: str, place: int) -> Method:
    """LIMSSE with one of three losses, of this name in the paper, the first, second or third.

    `class`: is the explained class the predicted one (limsse^bb)? `logit`, `probability`: its value (limsse^ms).
    """

    @method(
        f"LIMSSE ({loss})",
        name=f"limsse_{loss}",
        source="Poerner et al. 2018, section 3.6",
        kind="perturbation",
        evaluations="min(6n - 15, limsse_samples)",
        order=22 + place,
        limits=("limsse_samples",),
        stochastic=True,
        in_papers={"poerner2018": (18 + place, name)},
    )
    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        n = len(tokens.content)
        # not from rng: the three losses read the same substrings, so the ledger answers two of them
        shared = generator("limsse", tokens.ids.tolist(), *([budget.limsse_draw] if budget.limsse_draw else []))
        cuts = draw_substrings(n, budget.limsse_samples, budget.limsse_sampling, shared)
        logits = yield from _read_substrings(tokens, cuts)
        if loss == "class":
            values = (logits.argmax(axis=1) == target).astype(float)
        elif loss == "logit":
            values = logits[:, target]
        else:
            values = softmax(logits)[:, target]
        if budget.limsse_solver == "exact":
            return Scores(_fit_exactly(cuts, n, values, loss == "class"))
        return Scores((yield Descent(cuts, n, values, loss == "class", budget.limsse_epochs)))

    return converse


LOSSES = (
    limsse("class", "limsse_bb", 0),
    limsse("logit", "limsse_ms_s", 1),
    limsse("probability", "limsse_ms_p", 2),
)
