"""What somebody may have meant by a name that there is not."""

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean ...?`, where names come near; their case does not matter."""
    folded = {other.casefold(): other for other in names}
    near = difflib.get_close_matches(name.casefold(), folded, 2, cutoff=0.5)
    meant = " or ".join(repr(folded[other]) for other in near)
    return f"; did you mean {meant}?" if near else ""
