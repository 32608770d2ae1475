"""The pointing game: does the most relevant word lie where the evidence must be? (Poerner et al.
2018, section 2)

An explanation points at its highest signed score and scores a hit where evidence lies there. Of
equal highest scores each is equally likely to be pointed at; the expected hit is the share of them
that lie on evidence. The original takes the first. Letters used for shapes: W words, L model
tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from attreval.core.alignment import overlap_shares, to_words
from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.seeds import generator
from attreval.metrics.metric import Metric, metric
from attreval.metrics.scored_text import ScoredText, finite

Ties = Literal["expectation", "first"]
Affix = Literal["code", "paper", "both"]
# tags that have the number of class 0, singular, and of class 1, plural
FEATURES = (
    {"VBZ", "NN"},
    {"VBP", "NNS"},
)
BASELINES = ("random", "random_drawn", "last")
SOURCE = "Poerner et al. 2018, section 2"
_pointing = partial(
    metric, judge="pointing", source=SOURCE, needs=("scores", "marks"), higher_is_better=True
)


@dataclass(frozen=True)
class Game:
    """One question to an explanation: where evidence lies, (W,) bool, or why the instance is left
    out.
    """

    metric: str
    evidence: np.ndarray
    discarded: str = ""


def point(scores: np.ndarray, evidence: np.ndarray, ties: Ties = "expectation") -> float:
    """The expected hit of pointing at the highest score (Poerner et al. 2018, section 2); no
    evidence gives 0.

    scores: finite, evidence: bool, of one length of at least 1. Raises ValueError for anything
        else.
    """
    scores = finite(scores)
    evidence = np.asarray(evidence, dtype=bool)
    if scores.ndim != 1 or not len(scores) or scores.shape != evidence.shape:
        raise ValueError(
            f"pointing needs one score a word; got shapes {scores.shape} and {evidence.shape}"
        )
    if ties == "first":
        return float(evidence[scores.argmax()])
    if ties != "expectation":
        raise ValueError(f"ties go by 'expectation' or to the 'first'; got {ties!r}")
    return float(evidence[scores == scores.max()].mean())


def find_games(
    instance: Instance, predicted: int, covered: np.ndarray, affix: Affix | None = None
) -> list[Game]:
    """The games that the evidence of an instance allows, for the predicted class (Poerner et al.
    2018, eq. of sec. 2).

    covered: (W,) bool; evidence in words that the model does not read counts for nobody. affix: how
    a word of the manual lists meets a word of the text, where the rows of marks are rules: the
    released code's, the paper's; None where they are people, and what anybody marked is evidence.
    ValueError where there is no evidence to point at.
    """
    known = instance.evidence
    games = []
    if known.classes:
        lies = (np.array(known.classes) == predicted) & covered
        games.append(
            Game("hybrid", lies, "" if lies.any() else "the predicted class is that of no word")
        )
    if known.tags:
        start, end, _ = known.spans[0]
        subject = np.zeros(len(instance.words), dtype=bool)
        subject[start:end] = True
        games.append(Game("hit_target", subject & covered))
        games.append(Game("hit_feat", np.isin(known.tags, list(FEATURES[predicted])) & covered))
    if not games and len(known.marks):
        rows = {
            None: known.marks,
            "code": known.marks[:1],
            "paper": known.marks[-1:],
            "both": known.marks,
        }
        if affix not in rows:
            raise ValueError(
                f"unknown rule {affix!r} for relevant words; there are: "
                f"{', '.join(filter(None, rows))}"
            )
        wrong = "" if predicted == instance.label else "the prediction is wrong"
        games.append(Game("manual", (rows[affix] > 0).any(axis=0) & covered, wrong))
    if not games:
        raise ValueError(
            f"instance {instance.id!r} says nothing of where its evidence lies: the pointing game "
            "needs a task with classes of words, tags and a subject, or marked words"
        )
    return games


def play(
    instance: Instance,
    tokens: Tokens,
    predicted: int,
    attributions: Mapping[str, Attribution],
    ties: Ties = "expectation",
    affix: Affix | None = None,
    names: tuple[object, ...] = (),
) -> list[dict]:
    """One row a game and method, baselines included: instance, metric, method, hit, and what it
    depends on.

    tied: how many words have the highest score.

    A word's score is the sum of its tokens', a token in two words being shared by characters.

    `random` is the chance of a uniformly drawn word in closed form, `random_drawn` one such word,
    drawn by `names`; `last` the last word (agreement only). Hits of a discarded instance are NaN.
    An attribution of a baseline's name is passed over: its tokens are drawn uniformly, not its
    words.
    """
    shares = overlap_shares(tokens.offsets, instance.words)  # (L, W)
    covered = np.asarray(shares.any(axis=0))  # a word lost to truncation has no token
    words = int(covered.sum())
    if not words:
        raise ValueError(f"instance {instance.id!r} has no word that the model reads")
    drawn = generator("pointing", *names, instance.id).permutation(words).astype(float)
    found = {"random": np.zeros(words), "random_drawn": drawn}
    for method, attribution in attributions.items():
        if method not in BASELINES:
            found[method] = (shares.T @ attribution.on_tokens(len(tokens)))[covered]
    if instance.evidence.tags:
        found["last"] = np.arange(words, dtype=float)
    rows = []
    for game in find_games(instance, predicted, covered, affix):
        for method, scores in found.items():
            # random goes by expectation whatever the others do: the first of equal words is not a
            # random one
            how = "expectation" if method == "random" else ties
            hit = np.nan if game.discarded else point(scores, game.evidence[covered], how)
            rows.append(
                {
                    "instance": instance.id,
                    "metric": game.metric,
                    "method": method,
                    "hit": hit,
                    "predicted": predicted,
                    "correct": predicted == instance.label,
                    "attractors": instance.evidence.attractors,
                    "words": words,
                    "discarded": game.discarded,
                    "tied": int((scores == scores.max()).sum()),
                }
            )
    return rows


@_pointing("Pointing", order=11, joint=True)
def pointing(text: ScoredText, method: str) -> float:
    """1 where the highest-scored word lies where the evidence must be; ties by expectation."""
    full = np.zeros(len(text.tokens))
    full[text.tokens.content] = text.scores[method]
    read = np.unique(text.tokens.word[text.tokens.word >= 0])
    marked = np.asarray((text.instance.evidence.marks > 0).any(axis=0))
    return point(to_words(full, text.tokens, text.instance)[read], marked[read])


def _game(name: str, title: str, about: str, order: int) -> Metric:
    """One game of notebook 04."""
    about = f"1 where the highest-scored word {about}; ties by expectation."
    make = partial(_pointing, name=name, stored=name, notebook="04_poerner2018", planted=False)
    return make(f"Hit on {title}", about=about, order=order)(point)


hybrid = _game(
    "hybrid", "the predicted class's fragment", "stands in a fragment of the predicted class", 12
)
hit_target = _game("hit_target", "the subject", "is the verb's subject", 13)
hit_feat = _game(
    "hit_feat", "a noun of the right number", "is a noun that has the predicted number", 14
)
manual = _game("manual", "a word that people marked", "was marked as evidence", 15)
