"""LIMSSE and the eight gradients of Poerner et al. (2018) the slow way: one text, one sample, one
point at a time.
"""

import numpy as np
import torch


def score(model, x, of, target):
    """The logit or the probability of a class for (T, D) embeddings without company."""
    out = model.logits(
        None, torch.ones(1, len(x)), torch.zeros(1, len(x)), "float64", embeddings=x[None]
    )[0]
    return (out if of == "logit" else out.softmax(dim=0))[target]


def gradient_scores(model, x, of, target, steps):
    """(T,) L2 norms and dot products of the gradient averaged over alpha = 1/steps .. 1."""
    total = torch.zeros_like(x)
    for m in range(1, steps + 1):
        point = (m / steps * x).requires_grad_(True)
        score(model, point, of, target).backward()
        total += point.grad / steps
    return [sum(v * v for v in g) ** 0.5 for g in total.tolist()], [
        float(e @ g) for e, g in zip(x, total, strict=True)
    ]


def decompose(model, run, target):
    """(T,) parts of the class score: net loads by definition, products of gates over the words that
    follow.
    """
    sizes = model.sizes
    weights = model.at("float64").output.weight[target].numpy()
    n = sizes.hidden
    total = 0
    for d, steps in enumerate(run):
        loads = [0.0]
        for t, s in enumerate(steps):
            state = s["c"] if "c" in s else s["h"]
            for after in steps[t + 1 :]:
                state = state * (after["f"] if "f" in after else after["z"])
            shown = steps[-1]["o"] * np.tanh(state) if "c" in s else state
            loads.append(float(weights[d * n : (d + 1) * n] @ shown))
        total = total + np.diff(loads)[:: -1 if d else 1]
    return total


def substrings(n):
    """Every (start, end) of one to six tokens."""
    return [(a, b) for a in range(n) for b in range(a + 1, n + 1) if b - a <= 6]


def descend(design, values, classify, epochs):
    """The fit of the released code, by torch's own optimiser and gradients."""
    n = design.shape[1]
    limit = np.sqrt(6 / (n + 1))
    weights = torch.tensor(
        np.random.RandomState(12345).uniform(-limit, limit, n), requires_grad=True
    )
    optimizer = torch.optim.SGD([weights], lr=0.01, momentum=0.9, nesterov=True)
    z = torch.as_tensor(design, dtype=torch.float64)
    y = torch.as_tensor(values, dtype=torch.float64)
    for _ in range(epochs):
        optimizer.zero_grad()
        out = z @ weights
        fit = (
            torch.nn.functional.binary_cross_entropy_with_logits(out, y)
            if classify
            else ((out - y) ** 2).mean()
        )
        (fit + 0.01 * weights.abs().sum()).backward()
        optimizer.step()
    return weights.detach().numpy()
