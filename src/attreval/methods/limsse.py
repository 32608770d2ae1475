"""LIMSSE (Poerner et al. 2018, section 3.6): a linear surrogate over the words of short substrings.

The classifier reads every substring of one to six tokens on its own, and a linear model over the
tokens' presence is fitted to its answers. As in the released code, all substrings are read where
there are at most `limsse_samples` of them, and the fit is that code's: full-batch descent with
momentum and an L1 penalty, which the paper does not mention. The start comes from the same
distribution as the code's, but Keras derives other numbers from the seed. Where descent converges,
this decides nothing. On short texts the class loss does not, in the code's 1,000 steps: the top
word of one agreement sentence in eight changes with more of them (docs/decisions.md), and it
depends on the start. `limsse_solver: exact` takes no steps, and has no penalty.
A transformer keeps its special tokens around a substring. Where the penalty holds a weight at 0,
descent oscillates around it by up to RATE * PENALTY / (1 - MOMENTUM) = 0.001: float32 scores of one
text may differ by as much between batches.

A thousand steps on arrays of a few hundred numbers spend their time in calls, so the fits of all
texts and losses that are explained together take their steps together. The presence of tokens never
becomes a matrix: a substring's sum of weights is a difference of two running sums, and the sum of
what lies over a token is a running sum of what begins there less what has ended.
Letters used for shapes: F fits, n content tokens of a fit, N of the longest, w substrings of a fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided

from attreval.core.records import Tokens
from attreval.core.seeds import generator
from attreval.methods.method import Budget, Method, Rng, Scores, method
from attreval.models.outputs import ANY, CLASSES, follow
from attreval.models.questions import Computation, Conversation, Evaluate

LONGEST = 6
RATE = 0.01  # these four are the released code's
MOMENTUM = 0.9
PENALTY = 0.01
SEED = 12345
TOGETHER = 8192  # F * N of a loop, at most; measured: more gain nothing, and hold more memory
RIDGE = 1e-6


@dataclass(frozen=True)
class Descent(Computation):
    """Ask for (n,) weights by full-batch descent with Nesterov momentum.

    What falls is the mean loss plus PENALTY times the sum of |weights|. The start is Glorot
    uniform, as in the code, but drawn by NumPy.

    Attributes:
        cuts: (w, 2) starts and ends, exclusive, of substrings of at most LONGEST tokens.
        n: Number of tokens.
        values: (w,) what is fitted; the same for a substring that comes twice.
        classify: Cross entropy on 0/1 values, else squared error.
        epochs: Steps.
    """

    cuts: np.ndarray
    n: int
    values: np.ndarray
    classify: bool
    epochs: int

    @staticmethod
    def together(asked: Sequence["Descent"]) -> list[np.ndarray]:
        """The weights of each, those of like length and of one number of epochs in one loop."""
        found: dict[int, np.ndarray] = {}
        order = sorted(range(len(asked)), key=lambda i: (asked[i].epochs, asked[i].n))
        while order:
            longest = asked[order[-1]]
            room = max(1, TOGETHER // longest.n)
            part = [i for i in order[-room:] if asked[i].epochs == longest.epochs]
            del order[-len(part) :]
            part.reverse()
            part.sort(key=lambda i: not asked[i].classify)
            weights = _descend([asked[i] for i in part], longest.epochs)
            found |= zip(part, weights, strict=True)
        return [found[i] for i in range(len(asked))]


def _descend(fits: Sequence[Descent], epochs: int) -> list[np.ndarray]:
    """(n,) weights of each of F fits; those that classify come first."""
    size = max(fit.n for fit in fits)
    shape = (LONGEST, len(fits), size)
    classes = sum(fit.classify for fit in fits)
    values = np.zeros(shape)
    shares = np.zeros(shape)
    weights = np.zeros(shape[1:])
    step = np.zeros(shape[1:])
    for f, fit in enumerate(fits):
        starts, ends = fit.cuts.T
        at: Any = (ends - starts - 1, f, starts)
        values[at] = fit.values
        share = (1 if fit.classify else 2) / len(fit.cuts)
        np.add.at(shares, at, share)  # 0 for a substring that is not there
        limit = np.sqrt(6 / (fit.n + 1))
        weights[f, : fit.n] = np.random.RandomState(SEED).uniform(-limit, limit, fit.n)
    # what a shorter text has behind its end moves too, but nothing that is read ever holds it
    running = np.zeros((len(fits), size + 1 + LONGEST))
    # [l - 1, :, s] is s + l
    until = as_strided(running[:, 1:], shape, (running.strides[1], *running.strides))
    margin = np.zeros((LONGEST, len(fits), LONGEST + size))
    errors = margin[..., LONGEST:]
    length, row, one = margin.strides
    # [l - 1, :, t] is t - l
    ended = as_strided(margin[:, :, LONGEST - 1 :], shape, (length - one, row, one))
    for _ in range(epochs):
        np.cumsum(weights, axis=1, out=running[:, 1 : size + 1])
        np.subtract(until, running[:, :size], out=errors)
        if classes:  # the logistic function, by the one form of it that NumPy has fast
            errors[:, :classes] = 0.5 * np.tanh(0.5 * errors[:, :classes]) + 0.5
        np.subtract(errors, values, out=errors)
        np.multiply(errors, shares, out=errors)
        begun = errors.sum(axis=0) - ended.sum(axis=0)
        slope = np.cumsum(begun, axis=1) + PENALTY * np.sign(weights)
        step = MOMENTUM * step - RATE * slope
        weights = weights + MOMENTUM * step - RATE * slope
    return [weights[f, : fit.n].copy() for f, fit in enumerate(fits)]


def draw_substrings(n: int, samples: int, how: str, rng: Rng) -> np.ndarray:
    """Substrings to be read, in order of length.

    Args:
        n: Number of tokens.
        samples: Substrings, at most.
        how: `exhaustive` takes each substring once, or a random subset where there are more than
            `samples`; `random`, as the paper says, draws length and start uniformly, with
            replacement.
        rng: Draws them.

    Returns:
        (w, 2) starts and ends, exclusive.
    """
    longest = min(LONGEST, n)
    if how == "random":
        lengths = rng.integers(1, longest, size=samples, endpoint=True)
        starts = rng.integers(0, n - lengths, endpoint=True)
        drawn = np.stack([starts, starts + lengths], axis=1)
        return drawn[np.lexsort((starts, lengths))]
    every = [
        (start, start + length)
        for length in range(1, longest + 1)
        for start in range(n - length + 1)
    ]
    if len(every) <= samples:
        return np.array(every)
    kept = rng.choice(len(every), samples, replace=False)
    return np.array(every)[np.sort(kept)]


def _read_substrings(
    tokens: Tokens, cuts: np.ndarray, of: Literal["logit", "probability"]
) -> Conversation:
    """Ask for (w, K) logits or probabilities of substrings; one length shares a question."""
    special = np.flatnonzero(tokens.special)
    starts, ends = cuts.T
    lengths = ends - starts
    found = []
    for length in np.unique(lengths):
        first = starts[lengths == length]
        windows = tokens.content[first[:, None] + np.arange(length)]
        around = np.broadcast_to(special, (len(windows), len(special)))
        kept = np.concatenate([around, windows], axis=1)
        kept.sort(axis=1)
        answer = yield Evaluate(tokens.ids[kept], tokens.segments[kept], of=of)
        found.append(answer)
    return np.concatenate(found)


def _fit_exactly(cuts: np.ndarray, n: int, values: np.ndarray, classify: bool) -> np.ndarray:
    """(n,) weights that minimise the mean loss without the L1 penalty, with a ridge of 1e-6."""
    starts, ends = cuts.T[..., None]
    places = np.arange(n)
    design = ((starts <= places) & (places < ends)).astype(float)
    if not classify:
        gram = design.T @ design / len(cuts) + RIDGE * np.eye(n)
        return np.linalg.solve(gram, design.T @ values / len(cuts))
    # slow to import, and the list of methods is read by every command
    from scipy.optimize import minimize

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        sums = design @ weights
        losses = np.logaddexp(0, sums) - values * sums
        slope = design.T @ (follow(sums, "independent") - values) / len(cuts)
        return np.mean(losses) + RIDGE * weights @ weights, slope + 2 * RIDGE * weights

    options = {"maxiter": 5000, "gtol": 1e-9}
    return minimize(loss, np.zeros(n), jac=True, method="L-BFGS-B", options=options).x


def _most_substrings(length: int, content: int, budget: Budget, layers: int = 1) -> int:
    """How many substrings are read at most."""
    longest = min(content, LONGEST)
    return min(longest * (2 * content + 1 - longest) // 2, budget.limsse_samples)


def limsse(loss: str, name: str, place: int) -> Method:
    """LIMSSE with one of three losses.

    Args:
        loss: `class`: is the explained class the predicted one (limsse^bb)? `logit`, `probability`:
            its value (limsse^ms).
        name: Its name in the paper.
        place: The first, second or third in the paper's list.
    """

    @method(
        f"LIMSSE ({loss})",
        name=f"limsse_{loss}",
        source="Poerner et al. 2018, section 3.6",
        kind="perturbation",
        evaluations="min(min(n, 6) x (2n + 1 - min(n, 6)) / 2, limsse_samples)",
        cost=_most_substrings,
        order=22 + place,
        limits=("limsse_samples",),
        stochastic=True,
        outputs=CLASSES if loss == "class" else ANY,
        in_papers={"poerner2018": (18 + place, name)},
    )
    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        """(n,) weights of a linear model of what the classifier says of short substrings."""
        n = len(tokens.content)
        # not from rng: the three losses read the same substrings, so the ledger answers two of them
        another = [budget.limsse_draw] if budget.limsse_draw else []
        shared = generator("limsse", tokens.ids.tolist(), *another)
        cuts = draw_substrings(n, budget.limsse_samples, budget.limsse_sampling, shared)
        found = yield from _read_substrings(
            tokens, cuts, "probability" if loss == "probability" else "logit"
        )
        values = found[:, target]
        classify = loss == "class"
        if classify:
            values = (found.argmax(axis=1) == target).astype(float)
        if budget.limsse_solver == "exact":
            return Scores(_fit_exactly(cuts, n, values, classify))
        weights = yield Descent(cuts, n, values, classify, budget.limsse_epochs)
        return Scores(weights)

    return converse


LOSSES = (
    limsse("class", "limsse_bb", 0),
    limsse("logit", "limsse_ms_s", 1),
    limsse("probability", "limsse_ms_p", 2),
)
