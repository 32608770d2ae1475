"""What is said of an explained text in words and colours, by pages, terminals and pictures.

Colours are told apart by colour-blind people: blue for what is explained, orange against it, violet
unsigned. This is the one place where a score becomes a colour, of the library and of the study.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from attreval.methods import METHODS

Shown = Any  # an Explanation, which is not imported here: it shows itself with what is below
FOR = (33, 113, 181)
AGAINST = (217, 95, 2)
UNSIGNED = (117, 90, 180)
TINT = 0.6  # of the full colour at most: black and white text stay readable on it
FAINT = 0.005  # strengths below this are not coloured
KEY = (
    "blue: for what is explained; orange: against it; violet: scores without a sign; full colour: "
    "a method's strongest word"
)


def colour(strength: float, signed: bool) -> tuple[tuple[int, int, int], float]:
    """The full colour of a strength in [-1, 1], RGB from 0 to 255, and its opacity up to TINT."""
    full = UNSIGNED if not signed else FOR if strength > 0 else AGAINST
    return full, TINT * min(1.0, abs(strength))


def blend(strength: float, signed: bool = True, paper: int = 255) -> tuple[int, int, int]:
    """The colour of a strength on paper of a grey, white if not given, as RGB from 0 to 255."""
    full, share = colour(strength, signed)
    red, green, blue = (round(share * c + (1 - share) * paper) for c in full)
    return red, green, blue


def css(strength: float, signed: bool = True) -> str:
    """The colour of a strength for a page, in part transparent to suit light and dark pages."""
    full, share = colour(strength, signed)
    return f"#{bytes([*full, round(255 * share)]).hex()}"


def describe_text(one: Shown) -> str:
    """What was predicted, and what was explained where that is something else."""
    number = one.probabilities[one.predicted]
    how = "" if one.outputs == "value" else "with probability "
    shape = ".4g" if one.outputs == "value" else ".3f"
    if one.pieces:
        each = ", ".join(f"{numbers[one.target]:{shape}}" for _, _, numbers in one.pieces)
        return (
            f"{one.question}: {len(one.pieces)} pieces, each explained by itself, of which the "
            f"model says {one.target} {how}{each}; it has not read the whole text"
        )
    if one.outputs != "classes":
        return f"{one.target} {how}{number:{shape}}"
    said = f"predicted {one.predicted} with probability {number:.3f}"
    return said if one.target == one.predicted and not one.against else f"{said}; {one.question}"


def method_title(one: Shown, method: str) -> str:
    """A method's title; scores made elsewhere go by the name that they were given."""
    return METHODS[method].title if method in METHODS and method not in one.given else method


def has_sign(one: Shown, method: str) -> bool:
    """Whether a score below 0 counts against the class."""
    return method in one.given or method not in METHODS or METHODS[method].signed


def gather_remarks(explained: Sequence[Shown]) -> tuple[list[str], list[dict[str, list[str]]]]:
    """Remarks that hold for every text, to be said once, and those of each text by method."""
    remarks = [one.remarks for one in explained]
    said_of = Counter((m, said) for one in remarks for m, found in one.items() for said in found)
    alike = [one for one, count in said_of.items() if count == len(remarks) > 1]
    lines = [f"{method_title(explained[0], method)}: {said}" for method, said in alike]
    own = []
    for one in remarks:
        kept = {m: [said for said in found if (m, said) not in alike] for m, found in one.items()}
        own.append(kept)
    return lines, own


def how_many_unread(one: Shown) -> str:
    """How many words the model did not read, and why."""
    count = len(one.unread)
    all_words = len(one.instance.words)
    return (
        f"{count} of {all_words} words were not read: the model takes no more than these "
        f"{len(one.tokens)} tokens, or its tokenizer knows none for them"
    )
