"""The word vectors from which a word-level model starts."""

from __future__ import annotations

from collections.abc import Sequence

from attreval.models.words.vocabulary import WordVectors, read_glove, read_vectors
from compendium import corpora


def load_vectors(name: str, vocabulary: Sequence[str]) -> WordVectors:
    """The vectors that a model's `embeddings` names: `glove` of the registry, or a text file, for a vocabulary."""
    return read_glove(*corpora.glove()) if name == "glove" else read_vectors(corpora.vectors_file(name), vocabulary)
