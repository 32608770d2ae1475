"""Simulatability in a world: an agent that learns from the first tokens of explanations alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attreval.core.seeds import generator
from attreval.trial.world import WorldText

SHOWN = 2  # tokens of an explanation that the agent is shown


def guess_class(texts: Sequence[WorldText], scores: Sequence[np.ndarray], names: tuple, model: Any) -> np.ndarray:
    """The probability that an agent gives to the class that the model predicts, on texts that it was not trained on.

    The agent is a logistic regression on the words of the first tokens of an explanation and on whether these are the
    first and the last token of the text; it is trained on one half of the texts and tested on the other, both ways.
    """
    from sklearn.linear_model import LogisticRegression

    shown = np.stack(
        [show_agent(t, s, (*names, t.id), model.vocabulary_size) for t, s in zip(texts, scores, strict=True)]
    )
    classes, half = np.array([t.target for t in texts]), np.arange(len(texts)) // 2 % 2
    out = np.zeros(len(texts))
    for tested in (0, 1):
        train, test = half != tested, half == tested
        if not test.any():
            continue
        if len(np.unique(classes[train])) < 2:  # nothing to tell apart: it guesses what it has seen
            out[test] = np.isin(classes[test], classes[train])
            continue
        used = shown[train].any(axis=0)  # others have no weight
        agent = LogisticRegression(C=10.0, solver="newton-cholesky").fit(shown[train][:, used], classes[train])
        given, at = agent.predict_proba(shown[test][:, used]), np.searchsorted(agent.classes_, classes[test])
        seen = np.isin(classes[test], agent.classes_)
        out[test] = np.where(seen, given[np.arange(test.sum()), np.minimum(at, given.shape[1] - 1)], 0.0)
    return out


def show_agent(text: WorldText, scores: np.ndarray, names: tuple, words: int) -> np.ndarray:
    """(words + 2,) what an agent sees: the words of the SHOWN highest tokens, and whether they are at the ends."""
    tie = generator("ties", *names).permutation(len(scores))
    top = np.lexsort((tie, -scores))[:SHOWN]
    seen = np.zeros(words + 2)
    seen[text.tokens.ids[text.tokens.content[top]]] = 1
    seen[words:] = [(top == 0).any(), (top == len(scores) - 1).any()]
    return seen
