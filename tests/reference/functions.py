"""Functions from texts to probabilities, and what is known of texts with words left out, by brute
force.
"""

import numpy as np

import attreval as av
from attreval.core.seeds import seed_of
from attreval.texts.words import WORD


def by_words(texts):
    """(n, 2) probabilities of texts, or of pairs of them: neighbouring words have worths, made of
    their letters.
    """
    scores = []
    for text in texts:
        words = [
            word
            for part in ([text] if isinstance(text, str) else text)
            for word in WORD.findall(part)
        ]
        worths = [
            seed_of(*pair) % 2001 / 1000 - 1 for pair in zip(["", *words], words, strict=False)
        ]
        scores.append(sum(worths))
    positive = 1 / (1 + np.exp(-np.array(scores)))
    return np.column_stack([1 - positive, positive])


def function_model(**more):
    """`by_words` as a classifier."""
    return av.wrap(by_words, labels=("no", "yes"), **more)


def without(text, dropped, mask=None):
    """A text whose words stand between single spaces without some of them, or with a string in
    their place.
    """
    kept = [word if at not in dropped else mask for at, word in enumerate(text.split(" "))]
    return " ".join(word for word in kept if word is not None)
