"""agreement@k and relevance@k by enumerating every way to break ties."""

from itertools import combinations, product


def selections(scores, k):
    """Every equally likely top-k set of one voter."""
    k = min(k, len(scores))
    border = sorted(scores, reverse=True)[k - 1]
    sure = {i for i, s in enumerate(scores) if s > border}
    tied = [i for i, s in enumerate(scores) if s == border]
    return [sure | set(more) for more in combinations(tied, k - len(sure))]


def relevances(choice, n):
    """(n,) share of voters whose selection holds each token."""
    return [sum(i in chosen for chosen in choice) / len(choice) for i in range(n)]


def agreement_at_k(voters, k):
    """Mean over tie-breaks of sum of r over number of r above 0 (Kamp et al. 2023, eq. 2)."""
    values = []
    for choice in product(*(selections(v, k) for v in voters)):
        r = relevances(choice, len(voters[0]))
        values.append(sum(r) / sum(x > 0 for x in r))
    return sum(values) / len(values)


def relevance_at_k(voters, k):
    """(n,) mean over tie-breaks of the relevances."""
    rows = [
        relevances(choice, len(voters[0]))
        for choice in product(*(selections(v, k) for v in voters))
    ]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]
