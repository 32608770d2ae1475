"""Rules over words, written into a network by hand: OR, AND, negation and position.

Each class has a word for each of them. OR: either of two words. AND: both of two. Negation: a word
counts unless the word before it is `not`. Position: a word counts among the first three alone. A
text satisfies one rule of one class; beside it stand words that look alike and do not count: half
of the other class's AND, a negated twin, a twin too late. Letters used for shapes: B rows, L
tokens.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attreval.core.seeds import generator
from attreval.trial.exact import HandModel, coalitions, shapley
from attreval.trial.world import Made, WorldText, invent_words, make_text, world

# kinds of words of a class; `OTHER` is the second word of OR
OR, OTHER, LEFT, RIGHT, GOOD, EARLY, KINDS = range(7)
NOT = 2 * KINDS
FILLER = NOT + 1
RULES = ("or", "and", "negation", "position")
FIRST = 3  # places at which an early word counts
FILLERS = 24
SHORTEST = 8  # words of a text
LONGEST = 11


def apply_rules(found: Tensor) -> Tensor:
    """(B, 2) whether a rule of each class is satisfied, as a network of rectifiers computes it."""
    there = found.amax(dim=1)
    out = []
    before = torch.nn.functional.pad(found[:, :-1, NOT], (1, 0))  # (B, L)
    for start in (0, KINDS):
        either = torch.maximum(there[:, start + OR], there[:, start + OTHER])
        both = (there[:, start + LEFT] + there[:, start + RIGHT] - 1).relu()
        good = (found[..., start + GOOD] - before).relu().amax(dim=1)
        early = found[:, 1 : 1 + FIRST, start + EARLY].amax(dim=1)
        out.append(torch.stack([either, both, good, early]).amax(dim=0))
    return torch.stack(out, dim=1)


def satisfies_rule(kinds: Sequence[int], start: int) -> bool:
    """Whether a text of kinds of words (-1 for one that is gone) satisfies a rule of a class."""
    has = {kind - start for kind in kinds}
    good = any(
        kind == start + GOOD and (at == 0 or kinds[at - 1] != NOT) for at, kind in enumerate(kinds)
    )
    early = start + EARLY in list(kinds[:FIRST])
    return bool(has & {OR, OTHER}) or {LEFT, RIGHT} <= has or good or early


def exact_truth(kinds: Sequence[int], start: int) -> np.ndarray:
    """(n,) Shapley values of the words of a text, by all coalitions of those that are no filler."""
    players = np.flatnonzero(np.array(kinds) < FILLER)
    values = []
    for held in coalitions(len(players)):
        left = np.array(kinds)
        left[players[~held]] = -1
        values.append(float(satisfies_rule(left.tolist(), start)))
    out = np.zeros(len(kinds))
    out[players] = shapley(np.array(values))
    return out


@lru_cache(maxsize=16)
def rules_model(seed: int) -> tuple[HandModel, list[str]]:
    """The network and its words, by kind, then fillers."""
    words = invent_words(FILLER + FILLERS, "trial", "rules", seed)
    channels = np.zeros((len(words), FILLER))
    np.fill_diagonal(channels, 1.0)
    return HandModel(words, channels, apply_rules), words


def write_text(seed: int, at: int) -> WorldText:
    """Text number `at`: the rules and both classes take turns."""
    model, words = rules_model(seed)
    rng = generator("trial", "rules", seed, at)
    target = 1 + at % 2
    rule = RULES[at // 2 % len(RULES)]
    start = (target - 1) * KINDS
    length = int(rng.integers(SHORTEST, LONGEST + 1))
    kinds = np.full(length, FILLER)
    late = FIRST + rng.permutation(length - FIRST)  # places that are not early, in random order
    if rule == "or":
        kinds[late[0]] = start + OR
        if at // 8 % 2:
            kinds[late[1]] = start + OTHER
    if rule == "and":
        kinds[late[:3]] = start + LEFT, start + RIGHT, KINDS - start + LEFT
    if rule == "negation":
        kinds[-2:] = NOT, start + GOOD
        kinds[rng.integers(length - 2)] = start + GOOD
    if rule == "position":
        kinds[rng.integers(FIRST)] = kinds[late[0]] = start + EARLY
    spelt = [words[kind + (rng.integers(FILLERS) if kind == FILLER else 0)] for kind in kinds]
    truth = exact_truth(kinds.tolist(), start)
    return make_text(model, f"rules {seed} {at}", [spelt], target, truth, least=0.4)


@world(
    "Does it follow OR, AND, negation and position?",
    source="ours; values: Shapley 1953",
    truth="Shapley values of all coalitions of the words of a rule; a test compares them with the "
    "network itself",
    order=9,
)
def rules(seed: int, count: int) -> Made:
    """A network written by hand."""
    return Made(rules_model(seed)[0], [write_text(seed, at) for at in range(count)])
