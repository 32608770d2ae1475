"""The places of shown units the slow way."""


def places(sides, shown, bins):
    """Lengths of both parts, then for each part and bin whether any shown unit lies between its
    borders.
    """
    parts = [[u for u, side in enumerate(sides) if side == s] for s in sorted(set(sides))[:2]]
    parts += [[]] * (2 - len(parts))
    out = [len(part) for part in parts]
    for part in parts:
        for b in range(bins):
            inside = [
                u for at, u in enumerate(part) if b * len(part) <= at * bins < (b + 1) * len(part)
            ]
            out.append(float(any(u in shown for u in inside)))
    return out
