"""Peaks, phrases, people and seeds, closer to their definitions."""

from itertools import product


def paper_peaks(a):
    """Greater than both neighbours and than the mean (Kamp et al. 2023, section 4)."""
    mean = sum(a) / len(a) if len(a) else 0
    return [i for i in range(1, len(a) - 1) if a[i - 1] < a[i] > a[i + 1] and a[i] > mean]


def released_peaks(a, threshold):
    """The released code, step by step."""
    n = len(a)
    if n < 2:
        return []
    peaks = {i for i in range(1, n - 1) if a[i - 1] < a[i] > a[i + 1] and a[i] >= threshold}
    peaks |= {0} if a[0] > a[1] and a[0] >= threshold else set()
    peaks |= {n - 1} if a[-1] > a[-2] and a[-1] >= threshold else set()
    i = 1
    while i < n - 1:
        j = i
        while j < n - 1 and a[j + 1] == a[i]:
            j += 1
        if j > i and j < n - 1 and a[i] >= threshold and a[i - 1] < a[i] > a[j + 1]:
            peaks.add(i + (j - i) // 2)
        i = j + 1
    return sorted(peaks)


def agreement_of(selections):
    """Sum of relevance over the tokens that anybody selects, by their number."""
    votes = [sum(bool(s[i]) for s in selections) for i in range(len(selections[0]))]
    chosen = [v / len(selections) for v in votes if v]
    return sum(chosen) / len(chosen) if chosen else float("nan")


def chance(n, k, m):
    """Agreement@k of m selections, over every way to choose them."""
    from itertools import combinations

    sets = [set(c) for c in combinations(range(n), min(k, n))]
    values = [
        sum(map(len, choice)) / m / len(set().union(*choice)) for choice in product(sets, repeat=m)
    ]
    return sum(values) / len(values)


def share_agreement(selected, share):
    """One method and a share of people as relevance."""
    r = [(s + p) / 2 for s, p in zip(selected, share, strict=True)]
    return sum(r) / sum(x > 0 for x in r) if any(r) else float("nan")


def overlap(people):
    """(all over anybody, all over the least) of sets."""
    shared = set.intersection(*people)
    anybody = set.union(*people)
    least = min(map(len, people))
    return tuple(len(shared) / size if size else float("nan") for size in (len(anybody), least))


def differences(runs, itself):
    """Average pairwise difference of runs, lists of equally long rows."""
    out = []
    for i, one in enumerate(runs):
        apart = []
        for j, other in enumerate(runs):
            cells = [
                abs(x - y)
                for a, b in zip(one, other, strict=True)
                for x, y in zip(a, b, strict=True)
            ]
            if itself or i != j:
                apart.append(sum(cells) / len(cells))
        out.append(sum(apart) / len(apart))
    return out


def phrases(a, peaks):
    """Runs of tokens at or above the mean that hold a peak."""
    mean = sum(a) / len(a)
    out = []
    start = None
    for i in range(len(a) + 1):
        high = i < len(a) and a[i] >= mean
        if high and start is None:
            start = i
        if not high and start is not None:
            out += [(start, i)] if any(start <= p < i for p in peaks) else []
            start = None
    return out
