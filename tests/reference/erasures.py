"""Occlusion and omission by brute force: for each token, look for the windows that hold it."""

import numpy as np
import torch


def logits(network, ids, segments):
    """(K,) logits of one row of ids."""
    with torch.no_grad():
        out = network(input_ids=torch.tensor([list(ids)]), token_type_ids=torch.tensor([list(segments)]))
    return out.logits[0].numpy()


def occlude(tokens, window):
    """ids and segments with the positions masked."""
    return [tokens.mask_id if p in window else i for p, i in enumerate(tokens.ids)], tokens.segments


def omit(tokens, window):
    """ids and segments without the positions."""
    kept = [p for p in range(len(tokens)) if p not in window]
    return tokens.ids[kept], tokens.segments[kept]


def erasure_scores(network, tokens, target, size, erase):
    """(n,) mean effects of windows, borders counted as if all windows were there."""
    content = [int(p) for p in tokens.content]
    width = min(size, len(content))
    windows = [content[i : i + width] for i in range(len(content) - width + 1)]
    full = logits(network, tokens.ids, tokens.segments)[target]
    effect = [full - logits(network, *erase(tokens, window))[target] for window in windows]
    return np.array([sum(e for e, w in zip(effect, windows, strict=True) if p in w) / size for p in content])
