"""LRP and DeepLIFT as Poerner et al. (2018) give them for each architecture, one token at a time,
in NumPy.

With a reference (DeepLIFT), activations are differences to a run on zero embeddings; gates stay
those of the real run.
"""

import numpy as np

from reference.networks import blocks, forward, weights_of

EPSILON = 0.001


def stable(a):
    return a + EPSILON * np.where(a >= 0, 1, -1)


def differ(real, reference):
    """Steps with every activation but the gates less that of the reference."""
    keep = ("z", "r", "i", "f", "o")
    return [
        {k: v if k in keep else v - q[k] for k, v in p.items()}
        for p, q in zip(real, reference, strict=True)
    ]


def back_gru(w, d, n, x, steps, relevance):
    v = blocks(w["input_kernel"][d], n)[2]
    u = blocks(w["recurrent_kernel"][d], n)[2]
    out = np.zeros_like(x)
    for t in reversed(range(len(x))):
        s = steps[t]
        rg = relevance * (1 - s["z"]) * s["g"] / stable(s["h"])
        out[t] = x[t] * (v @ (rg / stable(s["pre"])))
        relevance = relevance * s["z"] * s["before"] / stable(s["h"]) + s["r"] * s["before"] * (
            u @ (rg / stable(s["pre"]))
        )
    return out


def back_lstm(w, d, n, x, steps, relevance):
    v = blocks(w["input_kernel"][d], n)[3]
    u = blocks(w["recurrent_kernel"][d], n)[3]
    out = np.zeros_like(x)
    carried = np.zeros(n)
    for t in reversed(range(len(x))):
        s = steps[t]
        rc = carried + relevance * s["o"] * np.tanh(s["c"]) / stable(s["h"])
        rg = rc * s["i"] * s["g"] / stable(s["c"])
        out[t] = x[t] * (v @ (rg / stable(s["pre"])))
        relevance = s["before"] * (u @ (rg / stable(s["pre"])))
        carried = rc * s["f"] * s["c_before"] / stable(s["c"])
    return out


def cell_gru(steps, relevance):
    """(T, H) relevance of g."""
    out = []
    for s in reversed(steps):
        out.append(relevance * (1 - s["z"]) * s["g"] / stable(s["h"]))
        relevance = relevance * s["z"] * s["before"] / stable(s["h"])
    return np.array(out[::-1])


def cell_lstm(steps, relevance):
    """(T, H) relevance of g."""
    last = steps[-1]
    out = []
    rc = relevance * last["o"] * np.tanh(last["c"]) / stable(last["h"])
    for s in reversed(steps):
        out.append(rc * s["i"] * s["g"] / stable(s["c"]))
        rc = rc * s["f"] * s["c_before"] / stable(s["c"])
    return np.array(out[::-1])


def back_windows(kernel, x, pre, rg, before):
    """(T, D) from the relevance of g: the output at t reads the inputs from t - before on. kernel:
    (H, D, k).
    """
    out = np.zeros_like(x)
    for t in range(len(x)):
        for j in range(kernel.shape[2]):
            p = t - before + j
            if 0 <= p < len(x):
                out[p] += x[p] * (rg[t] / stable(pre[t]) @ kernel[:, :, j])
    return out


def relevance(model, x, target, reference=False):
    """(T,) relevance of (T, D) embeddings for a class."""
    w, sizes = weights_of(model)
    run, h, scores = forward(model, x)
    if reference:
        bare, h_bare, scores_bare = forward(model, np.zeros_like(x))
        h = h - h_bare
        scores = scores - scores_bare
    start = h * w["output.weight"][target] * scores[target] / stable(scores[target])
    if sizes.architecture == "cnn":
        pre = run[0]["pre"]
        g = run[0]["g"]
        if reference:
            pre = pre - bare[0]["pre"]
            g = g - bare[0]["g"]
        rg = np.zeros_like(g)
        for f, r in enumerate(start):
            rg[g[:, f].argmax(), f] = r
        return back_windows(w["kernel"], x, pre, rg, (w["kernel"].shape[2] - 1) // 2).sum(axis=1)
    total = np.zeros(len(x))
    n = sizes.hidden
    for d, steps in enumerate(run):
        steps = differ(steps, bare[d]) if reference else steps
        r = start[d * n : (d + 1) * n]
        seen = x[::-1] if d else x
        if sizes.architecture in ("gru", "lstm"):
            found = {"gru": back_gru, "lstm": back_lstm}[sizes.architecture](
                w, d, n, seen, steps, r
            )
        else:
            kernel = w["kernel"][d][-n:]
            rg = {"qgru": cell_gru, "qlstm": cell_lstm}[sizes.architecture](steps, r)
            pre = np.array([s["pre"] for s in steps])
            if d and sizes.order == "convolve_first":
                pre = pre[::-1]
                rg = rg[::-1]
                seen = x
            found = back_windows(kernel, seen, pre, rg, kernel.shape[2] - 1)
            if d and sizes.order == "convolve_first":
                found = found[::-1]  # turned below like the others
        total += found.sum(axis=1)[:: -1 if d else 1]
    return total
