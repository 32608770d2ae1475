"""Phrases that a profile of scores puts forward, and their F1 (after Kamp et al. 2023, section 6).

The paper leaves spans to future work and sketches one way in its Figure 5: each token goes to the
nearest peak. Here, besides, a phrase is a run of neighbouring tokens that stay above the mean
around a peak; peaks with nothing below the mean between them make one phrase.

Kamp et al. (2024) compare methods on syntactic spans that a parser finds. A chunk comes by a
shallow cut of the text in place of a parse (Liberman & Church 1992): it begins at a function word
behind a content word, at a mark of punctuation and behind it, so that `the old man | of the sea |
.` needs no parser. Letters used for shapes: n tokens, p peaks, s phrases or chunks.
"""

from collections.abc import Sequence

import numpy as np

from attreval.core.units import true_runs
from attreval.metrics.agreement import to_shares
from attreval.metrics.dynamic_k import RELEASED, PeakRule, local_maxima
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText, finite, majority

Phrase = tuple[int, int]  # first token, and the one behind the last
_WORDS = """
a an the this that these those my your his her its our their some any no every each both all another such
of in on at by for with from to into onto over under about after before between through during against without
within along across behind beside near off out up down around toward towards upon as than like
and or but nor so yet if because while although though when where whether since until unless
i you he she it we they me him us them who whom whose which what there
is are was were be been being am do does did have has had
will would shall should can could may might must not n't 's 're 've 'll 'd 'm
"""  # noqa: E501
FUNCTION_WORDS = frozenset(_WORDS.split())
CONTINUED = "##"  # begins a piece of a word that began before


def nearest_peaks(scores: np.ndarray, peaks: np.ndarray) -> np.ndarray:
    """(n,) which peak each token belongs to: the nearest in score and in tokens together.

    Scores count as shares of the sum of their sizes, as those of Kamp et al. (2023, Fig. 5) do. The
    first of several as near; -1 where there is no peak.
    """
    scores = to_shares(finite(scores))
    if not len(peaks):
        return np.full(len(scores), -1)
    places = np.arange(len(scores))
    far = np.abs(scores[:, None] - scores[peaks]) + np.abs(places[:, None] - peaks)
    return far.argmin(axis=1)


def find_phrases(scores: np.ndarray, rule: PeakRule = RELEASED) -> list[Phrase]:
    """The s phrases of a profile, in order: runs of tokens above the mean that hold a peak."""
    scores = finite(scores)
    peaks = set(local_maxima(scores, rule).tolist())
    runs = true_runs(scores >= scores.mean()) if peaks else []
    return [(start, end) for start, end in runs if peaks.intersection(range(start, end))]


def phrase_tokens(phrases: Sequence[Phrase], n: int) -> np.ndarray:
    """(n,) bool, True inside any phrase."""
    chosen = np.zeros(n, dtype=bool)
    for start, end in phrases:
        chosen[start:end] = True
    return chosen


def phrase_f1(found: Sequence[Phrase], given: Sequence[Phrase], least: float = 0.0) -> float:
    """F1 of phrases: a found one is right, and a given one covered, where two overlap.

    Args:
        found: of an explanation.
        given: of people.
        least: the share of what two hold together that they must share.

    Returns:
        NaN where neither side has a phrase, 0 where only one has.
    """
    if not found or not given:
        return 0.0 if found or given else np.nan
    first, behind = np.array(found).T[:, :, None]
    start, end = np.array(given).T
    shared = np.minimum(behind, end) - np.maximum(first, start)
    either = np.maximum(behind, end) - np.minimum(first, start)
    fits = (shared > 0) & (shared / either >= least)
    precision = fits.any(axis=1).mean()
    recall = fits.any(axis=0).mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


@metric(
    "Phrases (F1)",
    name="phrase_f1",
    judge="agreement",
    source="after Kamp et al. 2023, section 6",
    needs=("scores", "marks"),
    higher_is_better=True,
    order=26,
    planted=False,
)
def phrases(text: ScoredText, method: str) -> float:
    """How far the phrases of a profile overlap those that people mark."""
    return phrase_f1(find_phrases(text.scores[method]), true_runs(majority(text.share)))


def find_chunks(tokens: Sequence[str]) -> np.ndarray:
    """(n,) number of the chunk that each token is in, from 0; pieces of a word stay together."""
    out = []
    number = -1
    previous = ""  # function, content or mark; nothing before the first token
    for token in tokens:
        word = token.lower()
        if not (word.startswith(CONTINUED) and previous):
            kind = _kind_of(word)
            behind_content = kind == "function" and previous == "content"
            number += kind == "mark" or previous in ("", "mark") or behind_content
            previous = kind
        out.append(number)
    return np.array(out, dtype=int)


def _kind_of(word: str) -> str:
    if not any(map(str.isalnum, word)):
        return "mark"
    return "function" if word in FUNCTION_WORDS else "content"


def chosen_chunks(selections: np.ndarray, chunks: np.ndarray) -> np.ndarray:
    """(..., s) bool, the chunks that hold a selected token, of (..., n) bool tokens.

    ValueError for other lengths.
    """
    selections = np.asarray(selections, dtype=bool)
    if selections.shape[-1] != len(chunks):
        raise ValueError(
            f"selections of {selections.shape[-1]} tokens do not fit chunks of {len(chunks)}"
        )
    held = chunks[:, None] == np.arange(chunks.max(initial=-1) + 1)
    return selections.astype(int) @ held.astype(int) > 0
