"""Which word of a line the eye meets first: the Unicode bidirectional algorithm (UAX 9).

Embeddings and isolates are left out: they are made by control characters, which nobody is shown.
A character's level is odd where it is read from the right.
"""

from collections.abc import Iterable, Iterator, Sequence
from unicodedata import bidirectional

import regex

from attreval.core.units import true_runs

# letters from the left, from the right, Arabic ones; digits, Arabic ones; what stands between or
# beside them, and what takes the kind of the character before; all others are neutral
KINDS = {"AL": "A", "EN": "1", "AN": "2", "ES": "+", "CS": ",", "ET": "%", "NSM": "m"}
KINDS |= {"L": "L", "R": "R"}
RULES = (  # W1 to W7, N1
    (r"(?<=([^m])m*)m", r"\1"),
    (r"(?<=A[^LR]*)1", "2"),
    ("A", "R"),
    (r"(?<=1)[+,](?=1)", "1"),
    (r"(?<=2),(?=2)", "2"),
    (r"(?<=1%*)%|%(?=%*1)", "1"),
    (r"[+,%]", "n"),
    (r"(?<=L[^R]*)1", "L"),
    (r"(?<=Ln*)n(?=n*L)", "L"),
    (r"(?<=[R12]n*)n(?=n*[R12])", "R"),
)


def find_levels(text: str) -> tuple[int, list[int]]:
    """The level of a text as a whole, which its first letter decides, and of each character."""
    kinds = "".join(KINDS.get(bidirectional(character), "n") for character in text)
    first = regex.search("[LRA]", kinds)
    base = "R" if first and first.group() != "L" else "L"
    kinds = base + kinds + base
    for pattern, kind in RULES:
        kinds = regex.sub(pattern, kind, kinds)
    from_right = int(base == "R")
    level = {"L": 2 * from_right, "R": 1, "1": 2, "2": 2, "n": from_right}
    return from_right, [level[kind] for kind in kinds[1:-1]]


def word_levels(text: str, places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Of each word the levels of the text, of what stands before the word, and of the word.

    Args:
        text: The text.
        places: Start and end of each word, in order.
    """
    base, levels = find_levels(text)
    before = 0
    for start, end in places:
        own = min(levels[start:end], default=base)
        yield base, min(levels[before:start], default=own), own
        before = end


def order_on_line(levels: Sequence[tuple[int, int, int]]) -> list[int]:
    """The words of a line, as `word_levels` gives them, from left to right."""
    parts = [level for _, before, own in levels for level in (before, own)]
    order = list(range(len(parts)))
    for least in range(max(parts, default=0), 0, -1):
        for start, end in true_runs([level >= least for level in parts]):
            order[start:end] = order[start:end][::-1]
    return [at // 2 for at in order if at % 2]
