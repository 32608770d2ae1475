"""Overlap shares, character by character."""

import numpy as np


def overlap_shares(offsets, words):
    """(L, W) as attreval.core.alignment.overlap_shares."""
    out = np.zeros((len(offsets), len(words)))
    for t, (side, start, end) in enumerate(offsets):
        mine = [w for w, word in enumerate(words) if word[0] == side]
        for w in mine:
            out[t, w] = len(set(range(start, end)) & set(range(words[w][1], words[w][2])))
        if mine and not out[t].any():
            away = [max(0, words[w][1] - end, start - words[w][2]) for w in mine]
            out[t, mine[away.index(min(away))]] = 1
        if out[t].any():
            out[t] /= out[t].sum()
    return out
