"""What a token is erased to: the mask token, or where there is none, what is most like nothing.

A decoder has learned no mask token. Several could stand for an erased one: those of its tokenizer
for unknown words, padding or the end of a text, and plain ones such as a space. To a language model
the end of a text is no blank. Taken is the one with which a text is read most as if tokens were
left out: of two short texts each third of the tokens is erased to it, and all of them, and class
scores (less their mean over classes) are compared with those of the text without these tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from attreval.core.alignment import fill_ids
from attreval.models.checks import probe_texts
from attreval.models.outputs import outputs_of
from attreval.models.questions.question import Row
from attreval.models.scorer import Scorer

OWN = ("mask", "unk", "pad", "eos")  # special tokens
PARTS = 3  # that the tokens of a text are parted into
PLAIN = (" ", " _", " ...", ",")


def name_erasing(model: Any, given: str | None) -> None:
    """Settle what a Transformer's tokens are erased to.

    Args:
        model: A Transformer; its `erasing` and `distances` are set.
        given: A token in words, or a special token; None takes the mask token of an encoder, else
            what is nearest to leaving tokens out.

    Raises:
        ValueError: What is given is not one token.
    """
    tokenizer = model.tokenizer
    if given is not None:
        ids = _read(tokenizer, given)
        if len(ids) != 1:
            pieces = tokenizer.convert_ids_to_tokens(ids)
            raise ValueError(
                f"erase={given!r} is {len(ids)} tokens of this model ({', '.join(pieces)}), and "
                "one takes the place of a token"
            )
        (model.erasing,) = ids
    elif tokenizer.mask_token_id is None or model.causal:
        model.distances = measure_erasing(model, list_candidates(tokenizer))
        model.erasing = min(model.distances, key=model.distances.__getitem__)


def erase_to(model: Any, what: str) -> None:
    """Erase a trained classifier's tokens in another way, for methods and metrics alike.

    Args:
        model: A Transformer, or a WordClassifier, whose words become padding unless it is `mean`.
        what: `mask` or `pad`, the token of its tokenizer, or `mean`, the mean of the vectors of all
            tokens, which becomes the vector of one more.

    Raises:
        ValueError: Its tokenizer has no such token.
    """
    words = model.family != "transformer"
    erased: int | None = None
    if what == "mean":
        # one more token, whose vector is the mean of all
        network = model.network
        table = network.embedding if words else network.get_input_embeddings()
        erased = len(table.weight)
        longer = torch.cat([table.weight, table.weight.mean(dim=0, keepdim=True)])
        table.weight = torch.nn.Parameter(longer, requires_grad=False)
        if words:
            model.reuse_from = np.inf  # windows that are computed anew alone are blanked by zeros
    elif not words:
        erased = getattr(model.tokenizer, f"{what}_token_id")
    if erased is None:
        raise ValueError(f"erase: {what}: {model.name!r} has no such token; `mean` will do")
    if words:
        model.mask_id = model.pad_id = erased
    else:
        model.erasing = erased


def _read(tokenizer: Any, text: str) -> list[int]:
    """The tokens of a text alone."""
    return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]


def list_candidates(tokenizer: Any) -> list[int]:
    """The ids among which it is chosen; what is usual where nothing is known comes first."""
    _, usual = fill_ids(tokenizer)
    ids = [usual]
    ids += [getattr(tokenizer, f"{name}_token_id") for name in OWN]
    for text in PLAIN:
        read = _read(tokenizer, text)
        if len(read) == 1:
            ids += read
    return [one for one in dict.fromkeys(ids) if one is not None]


def measure_erasing(model: Any, candidates: Sequence[int]) -> dict[int, float]:
    """How far a text with tokens erased to each candidate is from one without them.

    Returns:
        By id the mean absolute difference of centred class scores.
    """
    distances = dict.fromkeys(candidates, 0.0)
    scorer = Scorer(model)
    texts = probe_texts(model)
    for text in texts:
        gone = np.zeros((PARTS + 1, len(text)), dtype=bool)
        gone[-1, text.content] = True
        for part in range(PARTS):
            gone[part, text.content[part::PARTS]] = True
        if model.prompt is None:
            gone = gone[~gone.all(axis=1)]  # nothing would be left to read
        left = _ask(scorer, [(text.ids[~row], text.segments[~row]) for row in gone])
        for one in candidates:
            filled = np.where(gone, one, text.ids)
            apart = np.abs(_ask(scorer, [(row, text.segments) for row in filled]) - left)
            distances[one] += float(apart.mean()) / len(texts)
    return distances


def _ask(scorer: Scorer, rows: Sequence[Row]) -> np.ndarray:
    """(n, K) scores, of classes less their mean, which logits and log-probabilities share."""
    scores = scorer.logits(rows)
    if outputs_of(scorer.model) != "classes":
        return scores
    return scores - scores.mean(axis=1, keepdims=True)
