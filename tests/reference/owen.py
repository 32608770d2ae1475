"""Owen values by walking the whole tree, and the tree by merging neighbours one pair at a time."""

from itertools import pairwise


def owen_values(value, merges, n):
    """value: set of tokens -> number. merges: (left, right) of node n, n + 1, ..."""
    phi = [0.0] * n

    def leaves(node):
        return {node} if node < n else set().union(*map(leaves, merges[node - n]))

    def walk(node, context, weight):
        if node < n:
            phi[node] += weight * (value(context | {node}) - value(context))
            return
        left, right = merges[node - n]
        for one, other in ((left, right), (right, left)):
            walk(one, context, weight / 2)
            walk(one, context | leaves(other), weight / 2)

    walk(n + len(merges) - 1, set(), 1.0)
    return phi


def merge_score(left, right):
    """How well two neighbouring groups of token strings go together (texts without brackets)."""
    score = 20 * right[0].startswith("##") - len(left) - len(right)
    score += 15 * (
        right[0] == "'" and (len(right) == 1 or (len(right) == 2 and right[1] in ("t", "s")))
    )
    score += 15 * (left[-1] == "'" and right[0] in ("t", "s"))
    score -= 1000 * ((left[0] == "[SEP]") != (right[-1] == "[SEP]"))
    score -= 2 * (left[-1] in ("but", "and", "or") or right[0] in ("but", "and", "or"))
    score -= 10 * (left[-1] == ",") + (right[0] == ",") * (10 if len(right) > 1 else 1)
    score -= 20 * (left[-1] in tuple(".?!")) + (right[0] in tuple(".?!")) * (
        20 if len(right) > 1 else 1
    )
    return score


def merges(texts):
    """(left, right) node pairs in the order of merging; the best neighbours first, the leftmost of
    equals.
    """
    groups = [([text], i) for i, text in enumerate(texts)]
    out = []
    while len(groups) > 1:
        scores = [merge_score(a, b) for (a, _), (b, _) in pairwise(groups)]
        i = scores.index(max(scores))
        (left, a), (right, b) = groups[i : i + 2]
        out.append((a, b))
        groups[i : i + 2] = [(left + right, len(texts) + len(out) - 1)]
    return out
