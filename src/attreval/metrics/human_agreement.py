"""Agreement with people: which tokens they mark, and how far methods agree with them (Kamp et al. 2023, section 3).

Evidence holds one row of word marks for each of A people, any number of them. Every piece of a marked word is marked,
punctuation never is: annotators could not tell it from the word beside it (the released code of Kamp et al. 2023).
That code looks at the tokenizer's own text of a piece: what the vocabulary does not know, such as an emoji, is `[UNK]`
there, holds letters, and counts as a word.
Letters used for shapes: A people, W words, n content tokens.
"""

from __future__ import annotations

import re

import numpy as np

from attreval.core.alignment import marked_tokens
from attreval.core.records import Instance, Tokens
from attreval.metrics.agreement import agreement_at_k, agreement_of, tie_breaker, top_k, union_sizes
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima, select
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText

PUNCTUATION = re.compile(r"[^\w\s]+")
UNKNOWN = ("[UNK]", "<unk>")


def token_marks(instance: Instance, tokens: Tokens) -> np.ndarray:
    """(A, n) marks of the content tokens: that of the word that holds them, 0 for punctuation that is known.

    Raises ValueError where nobody marked this instance.
    """
    marks = instance.evidence.marks
    if not len(marks):
        raise ValueError(f"instance {instance.id!r} holds no marks of people; pick a task whose evidence is marks")
    content = tokens.content
    texts = [instance.segments[s][a:b] for s, a, b in tokens.offsets[content]]
    is_word = np.array([PUNCTUATION.fullmatch(text) is None for text in texts])
    is_word |= np.isin(np.array(tokens.texts)[content], UNKNOWN)
    return np.array([marked_tokens(person, tokens)[content] for person in marks]) * is_word


def spaced_marks(instance: Instance) -> np.ndarray:
    """(A, w) marks of the words that white space parts, which is what annotators see: 1 where any part is marked."""
    words = instance.words
    gap = (words[1:, 0] != words[:-1, 0]) | (words[1:, 1] > words[:-1, 2])
    starts = np.concatenate([[0], np.flatnonzero(gap) + 1])
    return np.maximum.reduceat(instance.evidence.marks > 0, starts, axis=1)


def relevance(marks: np.ndarray) -> np.ndarray:
    """(n,) share of people who mark each token, in steps of 1/A (Kamp et al. 2023, section 3)."""
    return (np.asarray(marks) > 0).mean(axis=0)


def overlap(marks: np.ndarray) -> tuple[float, float]:
    """What all people mark over what anybody marks, and over what the one marks who marks least; NaN over nothing."""
    marked = np.asarray(marks) > 0
    shared, anybody, least = marked.all(axis=0).sum(), marked.any(axis=0).sum(), marked.sum(axis=1).min()
    return tuple(float(shared / size) if size else float("nan") for size in (anybody, least))


def agreement_with_share(scores: np.ndarray, share: np.ndarray, k: int) -> float:
    """Expected agreement@k of a method with people whose relevance is the share of them (Kamp et al. 2023, section 3).

    The paper's words; its released code makes people a voter with a top k of its own, which agreement_at_k does.
    Relevance is the mean of the method's vote and the share. NaN where there is no token.
    """
    scores, share = np.asarray(scores, dtype=float), np.asarray(share, dtype=float)
    if scores.shape != share.shape:
        raise ValueError(f"method and people score the same tokens; got {scores.shape} and {share.shape}")
    if not len(scores):
        return float("nan")
    sure, tied, left = top_k(scores, k)
    covered = sure | (share > 0)
    total = (min(k, len(scores)) + share.sum()) / 2
    sizes = union_sizes([(tied, left)] if left else [], covered)
    return float(sum(p * total / (size + covered.sum()) for size, p in sizes.items()))


def selection_with_share(selection: np.ndarray, share: np.ndarray) -> float:
    """The same for a selection of any size, (n,) bool; NaN where neither side puts forward a token."""
    mean = (np.asarray(selection, dtype=float) + np.asarray(share, dtype=float)) / 2
    return float(mean.sum() / (mean > 0).sum()) if (mean > 0).any() else float("nan")


@metric(
    "People (fixed k)",
    judge="agreement",
    source="Kamp et al. 2023, section 3",
    needs=("scores", "marks"),
    higher_is_better=True,
    order=23,
    joint=True,
    also=("plausibility", "human_agreement"),
    planted=False,
)
def people(text: ScoredText, method: str) -> float:
    """How far a method selects the k tokens that most people mark."""
    if text.settings.people == "share":
        return agreement_with_share(text.scores[method], text.share, text.settings.k)
    return agreement_at_k([text.scores[method], text.share], text.settings.k, tie_breaker(text, method, "people"))


@metric(
    "People (dynamic k)",
    judge="agreement",
    source="Kamp et al. 2023, section 4",
    needs=("scores", "marks"),
    higher_is_better=True,
    order=24,
    joint=True,
    planted=False,
)
def people_dynamic(text: ScoredText, method: str) -> float:
    """How far a method's local maxima are those of the share of people who mark a token."""
    if text.settings.people == "share":
        return selection_with_share(text.peaks(method), text.share)
    marked = select(local_maxima(text.share, PEAK_RULES[text.settings.peaks]), len(text.share))
    return agreement_of([text.peaks(method), marked])
