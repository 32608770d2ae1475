"""Which characters does a token cover? Sub-words and words meet at offsets, and relevance is kept.

Letters used for shapes: W words, L model tokens (special tokens included).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attreval.core.records import Instance, Tokens


def tokenize(instance: Instance, tokenizer: Any, max_length: int) -> Tokens:
    """The model's tokens of an instance, with the words they belong to.

    Args:
        instance: The text.
        tokenizer: A fast Hugging Face tokenizer; see `fill_ids` for one without a mask or padding
            token.
        max_length: Tokens, at most; the longer segment is cut.

    Raises:
        ValueError: The text holds no token.
    """
    encoded = tokenizer(
        *instance.segments,
        truncation=True,
        max_length=max_length,
        return_offsets_mapping=True,
        verbose=False,
    )
    sides = encoded.sequence_ids(0)
    special = np.array([side is None for side in sides])
    if special.all():
        raise ValueError(
            f"instance {instance.id!r} has nothing to explain: its text "
            f"{instance.segments!r:.80} gives no token; leave it out, or give it at least one word"
        )
    places = np.array([side or 0 for side in sides])
    offsets = np.column_stack([places, encoded["offset_mapping"]])
    offsets[special] = (-1, 0, 0)
    ids = encoded["input_ids"]
    return place_tokens(
        instance,
        ids,
        encoded.get("token_type_ids", np.zeros(len(ids))),
        offsets,
        tokenizer.convert_ids_to_tokens(ids),
        fill_ids(tokenizer),
        tokenizer.unk_token_id,
    )


def place_tokens(
    instance: Instance,
    ids: Sequence[int],
    segments: Sequence[int],
    offsets: np.ndarray,
    texts: Sequence[str],
    fills: tuple[int, int],
    unknown_id: int | None = None,
) -> Tokens:
    """Tokens with the words of the instance that they belong to.

    Args:
        instance: The text.
        ids, segments, texts: Of the L tokens.
        offsets: (L, 3) segment, start, end; -1 marks a special token.
        fills: Ids of padding and masks.
        unknown_id: Of the unknown token, None where there is none.
    """
    shares = overlap_shares(offsets, instance.words)
    none = np.zeros((len(offsets), 1))
    word = np.argmax(np.hstack([none, shares]), axis=1) - 1  # -1 where a token has a share of none
    pad, mask = fills
    covered = shares.any(axis=0)
    return Tokens(
        ids=np.array(ids, dtype=np.int64),
        segments=np.array(segments, dtype=np.int64),
        special=offsets[:, 0] < 0,
        word=word,
        offsets=offsets,
        texts=tuple(texts),
        mask_id=mask,
        pad_id=pad,
        dropped=int((~covered).sum()),
        unknown_id=unknown_id,
        written=instance.segments,
    )


def fill_ids(tokenizer: Any) -> tuple[int, int]:
    """The ids of padding, which is masked, and of the token that takes the place of an erased one.

    Padding: the padding token, else the mask token, else the end of text, else the unknown token,
    else 0. It is what metrics erase to. Methods erase to the mask token; where there is none
    (GPT-2, Llama, T5) to the unknown token, else padding, else the end of text, else 0.
    """

    def first(*names: str) -> int:
        ids = [getattr(tokenizer, f"{name}_token_id") for name in names]
        return next((known for known in ids if known is not None), 0)

    return first("pad", "mask", "eos", "unk"), first("mask", "unk", "pad", "eos")


def overlaps(offsets: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many characters stretches share; below 0 the distance between them.

    Args:
        offsets: (L, 3) rows of segment, start, end.
        others: (W, 3) such rows.

    Returns:
        (L, W); -inf where their segments differ.
    """
    side, start, end = offsets.T[..., None]
    other, begin, until = others.T
    shared = np.minimum(end, until) - np.maximum(start, begin)
    return np.where(side == other, shared, -np.inf)


def divide(parts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Parts of totals as shares; 0 where a total is 0."""
    return np.divide(parts, totals, out=np.zeros_like(parts), where=totals > 0)


def overlap_shares(offsets: np.ndarray, words: np.ndarray) -> np.ndarray:
    """(L, W) shares of each token that lie in each word.

    A content token's row sums to 1, a special token's to 0. A token that overlaps no word (white
    space, say) belongs whole to the nearest word of its segment.

    Args:
        offsets: (L, 3) rows of segment, start, end; segment -1 marks a special token.
        words: (W, 3) rows of segment, start, end.
    """
    overlap = overlaps(offsets, words)
    shares = np.maximum(overlap, 0)
    lost = np.isfinite(overlap).any(axis=1) & ~shares.any(axis=1)
    for token in np.flatnonzero(lost):
        nearest = overlap[token].argmax()
        shares[token, nearest] = 1.0
    return divide(shares, shares.sum(axis=1, keepdims=True))


def to_words(token_scores: np.ndarray, tokens: Tokens, instance: Instance) -> np.ndarray:
    """(W,) word scores with the sum of the content tokens' scores.

    Args:
        token_scores: (L,).
        tokens: What the model reads.
        instance: The text.
    """
    shares = overlap_shares(tokens.offsets, instance.words)
    return shares.T @ np.asarray(token_scores, dtype=float)


def to_tokens(word_scores: np.ndarray, tokens: Tokens, instance: Instance) -> np.ndarray:
    """(L,) token scores: each word's is shared by its tokens; covered words keep their sum.

    Args:
        word_scores: (W,).
        tokens: What the model reads.
        instance: The text.
    """
    shares = overlap_shares(tokens.offsets, instance.words)
    scores = np.asarray(word_scores, float)
    return shares @ divide(scores, shares.sum(axis=0))


def marked_tokens(word_marks: np.ndarray, tokens: Tokens) -> np.ndarray:
    """(L,) mark of each token: that of the word that holds most of it, 0 for special tokens.

    Args:
        word_marks: (W,).
        tokens: What the model reads.
    """
    marks = np.append(np.asarray(word_marks, float), 0.0)  # index -1 is the special tokens' word
    return marks[tokens.word]
