"""Occlusion and omission by brute force: for each token, look for the windows that hold it."""

import numpy as np
import torch


def logits(network, ids, segments):
    """(K,) logits of one row of ids."""
    with torch.no_grad():
        out = network(
            input_ids=torch.tensor([list(ids)]), token_type_ids=torch.tensor([list(segments)])
        )
    return out.logits[0].numpy()


def occlude(tokens, window):
    """ids and segments with the positions masked."""
    return [tokens.mask_id if p in window else i for p, i in enumerate(tokens.ids)], tokens.segments


def omit(tokens, window):
    """ids and segments without the positions."""
    kept = [p for p in range(len(tokens)) if p not in window]
    return tokens.ids[kept], tokens.segments[kept]


def erasure_scores(network, tokens, target, size, erase, rule):
    """(n,) mean effects of the windows that start at each place a rule allows; what does not exist
    counts 0.
    """
    content = [int(p) for p in tokens.content]
    n = len(content)
    full = logits(network, tokens.ids, tokens.segments)[target]
    scores = []
    for t in range(n):
        starts = range(t - size + 1, t + 1)  # of the windows that hold t
        if rule == "cut_right":
            starts = [s for s in starts if s >= 0]
        elif rule != "cut":
            starts = [s for s in starts if s >= 0 and s + size <= n] if n >= size else [0]
        effects = [
            full - logits(network, *erase(tokens, content[max(0, s) : s + size]))[target]
            for s in starts
        ]
        scores.append(sum(effects) / (len(effects) if rule == "mean" else size))
    return np.array(scores)
