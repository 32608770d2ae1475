"""The word-level networks of Poerner et al. (2018), appendix A, one row and one token at a time, in
NumPy.

A forward pass gives, for each direction, dictionaries of (T, H) arrays: the gates, g' (pre), g, c
or h. The arrays are in the order in which the direction walks through the text.
"""

import numpy as np


def logistic(a):
    return 1 / (1 + np.exp(-a))


def hard(a):
    return np.clip(0.2 * a + 0.5, 0, 1)


def weights_of(model):
    """name -> float64 array, and the sizes."""
    state = model.at("float64").state_dict()
    return {
        name.split(".", 1)[-1] if "core" in name else name: w.numpy() for name, w in state.items()
    }, model.sizes


def blocks(array, n):
    """The blocks of n columns."""
    return [array[..., i : i + n] for i in range(0, array.shape[-1], n)]


def gru(w, d, n, x, sigma):
    (vz, vr, v), (uz, ur, u), (bz, br, b) = (
        blocks(w[k][d], n) for k in ("input_kernel", "recurrent_kernel", "bias")
    )
    h = np.zeros(n)
    steps = []
    for e in x:
        z = sigma(e @ vz + h @ uz + bz)
        r = sigma(e @ vr + h @ ur + br)
        pre = e @ v + (r * h) @ u + b
        g = np.tanh(pre)
        new = z * h + (1 - z) * g
        steps.append({"z": z, "r": r, "pre": pre, "g": g, "before": h, "h": new})
        h = new
    return steps


def lstm(w, d, n, x, sigma):
    (vi, vf, vo, v), (ui, uf, uo, u), (bi, bf, bo, b) = (
        blocks(w[k][d], n) for k in ("input_kernel", "recurrent_kernel", "bias")
    )
    h = np.zeros(n)
    c = np.zeros(n)
    steps = []
    for e in x:
        i, f, o = (
            sigma(e @ a + h @ q + s) for a, q, s in ((vi, ui, bi), (vf, uf, bf), (vo, uo, bo))
        )
        pre = e @ v + h @ u + b
        g = np.tanh(pre)
        new = f * c + i * g
        steps.append(
            {"i": i, "f": f, "o": o, "pre": pre, "g": g, "before": h, "c_before": c, "c": new}
        )
        c = new
        h = o * np.tanh(new)
        steps[-1]["h"] = h
    return steps


def causal(w, d, x):
    """(T, G H) pre-activations: output t sees x_{t-k+1} .. x_t. kernel (W, D, k): the last slice
    reads x_t.
    """
    kernel = w["kernel"][d]
    out = []
    size = kernel.shape[2]
    for t in range(len(x)):
        back = [j for j in range(size) if t - j >= 0]
        out.append(w["bias"][d] + sum(kernel[:, :, size - 1 - j] @ x[t - j] for j in back))
    return np.array(out)


def qgru(w, d, n, a, sigma):
    h = np.zeros(n)
    steps = []
    for row in a:
        z = sigma(row[:n])
        pre = row[n:]
        g = np.tanh(pre)
        new = z * h + (1 - z) * g
        steps.append({"z": z, "pre": pre, "g": g, "before": h, "h": new})
        h = new
    return steps


def qlstm(w, d, n, a, sigma):
    c = np.zeros(n)
    steps = []
    for row in a:
        i, f, o = (sigma(q) for q in blocks(row[: 3 * n], n))
        pre = row[3 * n :]
        g = np.tanh(pre)
        new = f * c + i * g
        steps.append(
            {
                "i": i,
                "f": f,
                "o": o,
                "pre": pre,
                "g": g,
                "c_before": c,
                "c": new,
                "h": o * np.tanh(new),
            }
        )
        c = new
    return steps


def cnn(w, x):
    """pre, g (T, F); the filter's slice j reads position t - (k - 1) // 2 + j."""
    kernel = w["kernel"]
    pre = []
    left = (kernel.shape[2] - 1) // 2
    for t in range(len(x)):
        inside = [(j, t - left + j) for j in range(kernel.shape[2]) if 0 <= t - left + j < len(x)]
        pre.append(w["bias"] + sum(kernel[:, :, j] @ x[p] for j, p in inside))
    pre = np.array(pre)
    return {"pre": pre, "g": np.maximum(pre, 0)}


def forward(model, x):
    """What each direction did with (T, D) embeddings, the last states (H,), and the logits (K,)."""
    w, sizes = weights_of(model)
    sigma = hard if sizes.gate == "hard_sigmoid" else logistic
    if sizes.architecture == "cnn":
        run = [cnn(w, x)]
        h = run[0]["g"].max(axis=0)
    else:
        run = []
        for d in range(1 + sizes.bidirectional):
            if sizes.architecture in ("gru", "lstm"):
                seen = x[::-1] if d else x
                run.append(
                    {"gru": gru, "lstm": lstm}[sizes.architecture](w, d, sizes.hidden, seen, sigma)
                )
                continue
            way = -1 if d else 1
            first = sizes.order == "turn_first"
            a = causal(w, d, x[::way]) if first else causal(w, d, x)[::way]
            run.append(
                {"qgru": qgru, "qlstm": qlstm}[sizes.architecture](w, d, sizes.hidden, a, sigma)
            )
        h = np.concatenate([steps[-1]["h"] for steps in run])
    return run, h, w["output.weight"] @ h + w["output.bias"]
