"""Which characters does a token cover? Sub-words and words meet at character offsets, and relevance is conserved.

Letters used for shapes: W words, L model tokens (special tokens included).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attreval.core.records import Instance, Tokens


def tokenize(instance: Instance, tokenizer: Any, max_length: int) -> Tokens:
    """The model's tokens of an instance, cut to `max_length` from the longer segment, with the words they belong to.

    tokenizer: a fast Hugging Face tokenizer; see `fill_ids` for one without a mask or padding token. Raises ValueError
    if the text holds no token.
    """
    encoded = tokenizer(
        *instance.segments, truncation=True, max_length=max_length, return_offsets_mapping=True, verbose=False
    )
    sides = encoded.sequence_ids(0)
    special = np.array([side is None for side in sides])
    if special.all():
        raise ValueError(
            f"instance {instance.id!r} has nothing to explain: its text {instance.segments!r:.80} gives no token; "
            "leave it out, or give it at least one word"
        )
    offsets = np.array(
        [(-1, 0, 0) if s is None else (s, *o) for s, o in zip(sides, encoded["offset_mapping"], strict=True)],
        dtype=np.int64,
    )
    ids = encoded["input_ids"]
    segments, texts = encoded.get("token_type_ids", np.zeros(len(ids))), tokenizer.convert_ids_to_tokens(ids)
    return place_tokens(instance, ids, segments, offsets, texts, fill_ids(tokenizer), tokenizer.unk_token_id)


def place_tokens(
    instance: Instance,
    ids: Sequence[int],
    segments: Sequence[int],
    offsets: np.ndarray,
    texts: Sequence[str],
    fills: tuple[int, int],
    unknown_id: int | None = None,
) -> Tokens:
    """Tokens with the words of the instance that they belong to, by (L, 3) offsets; fills: of padding and masks."""
    shares = overlap_shares(offsets, instance.words)
    return Tokens(
        ids=np.array(ids, dtype=np.int64),
        segments=np.array(segments, dtype=np.int64),
        special=offsets[:, 0] < 0,
        word=np.where(shares.any(axis=1), shares.argmax(axis=1), -1) if len(instance.words) else np.full(len(ids), -1),
        offsets=offsets,
        texts=tuple(texts),
        mask_id=fills[1],
        pad_id=fills[0],
        dropped=int((~shares.any(axis=0)).sum()),
        unknown_id=unknown_id,
    )


def fill_ids(tokenizer: Any) -> tuple[int, int]:
    """The ids of padding, which is masked, and of the token that takes the place of an erased one.

    Padding: the padding token, else the mask token, else the end of text, else the unknown token, else 0. It is what
    metrics erase to. Methods erase to the mask token; where there is none (GPT-2, Llama, T5) to the unknown token, else
    padding, else the end of text, else 0.
    """
    pad, unknown, end = (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.eos_token_id)

    def first(*ids: int | None) -> int:
        return next((known for known in ids if known is not None), 0)

    mask = tokenizer.mask_token_id
    return first(pad, mask, end, unknown), first(mask, unknown, pad, end)


def overlap_shares(offsets: np.ndarray, words: np.ndarray) -> np.ndarray:
    """(L, W) shares of each token that lie in each word; a content token's row sums to 1, a special token's to 0.

    offsets: (L, 3) and words: (W, 3), rows of segment, start, end; segment -1 marks a special token.
    A token that overlaps no word (white space, say) belongs whole to the nearest word of its segment.
    """
    side, start, end = offsets.T
    same = side[:, None] == words[None, :, 0]
    overlap = np.minimum(end[:, None], words[None, :, 2]) - np.maximum(start[:, None], words[None, :, 1])
    shares = np.where(same, np.maximum(overlap, 0), 0).astype(float)
    for t in np.flatnonzero(same.any(axis=1) & ~shares.any(axis=1)):
        # where two stretches do not meet, -overlap is the distance between them in characters
        shares[t, np.where(same[t], -overlap[t], np.inf).argmin()] = 1.0
    totals = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, totals, out=np.zeros_like(shares), where=totals > 0)


def to_words(token_scores: np.ndarray, tokens: Tokens, instance: Instance) -> np.ndarray:
    """(W,) word scores from (L,) token scores; what the content tokens hold in sum, the words hold in sum."""
    return overlap_shares(tokens.offsets, instance.words).T @ np.asarray(token_scores, dtype=float)


def to_tokens(word_scores: np.ndarray, tokens: Tokens, instance: Instance) -> np.ndarray:
    """(L,) token scores from (W,) word scores, each word shared out over its tokens; covered words keep their sum."""
    shares = overlap_shares(tokens.offsets, instance.words)
    totals = shares.sum(axis=0)
    return shares @ np.divide(np.asarray(word_scores, float), totals, out=np.zeros_like(totals), where=totals > 0)


def marked_tokens(word_marks: np.ndarray, tokens: Tokens) -> np.ndarray:
    """(L,) mark of each token: that of the word that holds most of it, 0 for special tokens."""
    marks = np.append(np.asarray(word_marks, float), 0.0)  # index -1 is the special tokens' word
    return marks[tokens.word]
