"""GECO (Wilming et al. 2024): sentences in a male and a female form, and a network for them.

All words that differ between the two forms are marked. A model needs one of them, so whether it
uses all is measured: in short sentences, by every subset of the marked words (exact Shapley
values). A word-level network is trained at once; a classifier of one's own, such as MiniLM, is read
from the folder that GECO_MODEL names.
"""

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attreval.core.seeds import Rng, generator
from attreval.models.scorer import Scorer
from attreval.models.words.vocabulary import count_words
from attreval.trial.exact import coalition_logits, shapley
from attreval.trial.trained import Labelled, train_words
from attreval.trial.world import Made, WorldText, make_instance, make_text, world

GECO_MODEL = "ATTREVAL_GECO_MODEL"
LABELS = ("female", "male")
VOCABULARY = 4000
LONGEST = 20  # words of a text
MOST_MARKED = 8
BATCH = 64
STEPS = 250
USED = 0.05  # of what all marked words together count: a word that counts less is not used


class GecoSentence(NamedTuple):
    """A sentence in one of its forms. number: of the sentence, which both forms share."""

    words: list[str]
    marks: list[int]
    label: int
    number: int


@lru_cache(maxsize=2)
def read_geco(folder: Path, split: str) -> list[GecoSentence]:
    """The sentences of a split. ValueError for another format."""
    path = folder / f"binary_gender_all_{split}.jsonl"
    out = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            label = int(row["target"])
            shared = int(row["sentence_idx"])
            out.append(GecoSentence(row["sentence"], row["ground_truth"], label, shared))
        except (KeyError, TypeError, ValueError) as error:
            wrong = f"{path.name}, line {number}: no sentence of GECO ({error!r})"
            raise ValueError(wrong) from None
    return out


@lru_cache(maxsize=4)
def geco_model(folder: Path, seed: int) -> tuple[Any, bool]:
    """The classifier, and whether it was trained here."""
    if given := os.environ.get(GECO_MODEL):
        from attreval.api.loading import load

        return load(given, 128), False
    train = [(one.words, one.label) for one in read_geco(folder, "train")]
    vocabulary = count_words([make_instance([words], label) for words, label in train], VOCABULARY)

    def batch(rng: Rng) -> list[Labelled]:
        return [train[at] for at in rng.integers(len(train), size=BATCH)]

    return train_words("geco", LABELS, vocabulary, batch, seed, steps=STEPS), True


def share_used(model: Any, texts: list[WorldText]) -> float:
    """The share of marked words whose Shapley value among them is not nearly 0.

    All 2^m subsets of the m marked words of a text are asked, MOST_MARKED at most; its other words
    stay.
    """
    used = []
    for text in texts:
        players = text.tokens.content[text.evidence]
        if len(players) <= MOST_MARKED:
            scorer = Scorer(model, precision="float64")
            parts = shapley(coalition_logits(scorer, text.tokens, players, text.target))
            used += (np.abs(parts) > USED * np.abs(parts).sum()).tolist()
    return float(np.mean(used)) if used else np.nan


@world(
    "Does it find, in real sentences, the words that differ between a male and a female form?",
    source="Wilming et al. 2024",
    truth="the marked words, which alone tell the classes apart; how many of them the model uses "
    "is measured",
    corpus="geco",
    order=14,
)
def geco(seed: int, count: int, folder: Path) -> Made:
    """A word-level network, or a classifier of one's own."""
    model, ours = geco_model(folder, seed)
    learnt = {one.number for one in read_geco(folder, "train")}
    short = [one for one in read_geco(folder, "test") if len(one.words) <= LONGEST]
    tested = [one for one in short if one.number not in learnt]
    texts: list[WorldText] = []
    seen = set()
    scorer = Scorer(model, precision="float64")
    for at in generator("trial", "geco", seed).permutation(len(tested)).tolist():
        one = tested[at]
        if len(texts) == count:
            break
        if one.number in seen or not any(one.marks):
            continue
        seen.add(one.number)
        id = f"geco {seed} {len(texts)}"
        text = make_text(model, id, [one.words], one.label, np.array(one.marks))
        if scorer.logits([(text.tokens.ids, text.tokens.segments)])[0].argmax() == one.label:
            texts.append(text)
    if len(texts) < count:
        raise ValueError(
            f"GECO has {len(texts)} short sentences that the model is right on; {count} were "
            "asked for"
        )
    measured = {
        "accuracy": count / max(1, len(seen)),
        "marked words used": share_used(model, texts),
    }
    return Made(model, texts, ours, measured)
