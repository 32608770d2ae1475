"""A classifier of one's own: from a folder or a hub, or a module that is in memory already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attreval.models.classifier import Classifier

if TYPE_CHECKING:
    from torch import nn

ENDLESS = 1_000_000  # tokenizers that know no limit say a greater number
WITHOUT_LIMIT = 4096  # tokens read where neither network nor tokenizer names a limit
PROBES = ("a", "a text of some more words, none of which says much.")
AGREE = 1e-3  # logits by ids and by embeddings differ by less, times their size; float32 leaves some 1e-6


def load(folder: str | Path, max_length: int | None = None, device: str = "auto") -> Classifier:
    """A trained classifier, from a folder that `transformers` or this package wrote, or from a hub by name.

    Args:
        folder: a path, or a name.
        max_length: tokens read of a text; None for all that the model has positions for.
        device: `auto` is CUDA where there is one, else the CPU.

    Raises:
        FileNotFoundError: a path that is not there.
        OSError, ValueError: what is there is no classifier.
    """
    from attreval.models.folders import find_model
    from attreval.models.loading import load_classifier

    check_length(max_length)
    place = find_model(str(folder.absolute()) if isinstance(folder, Path) else folder)
    asked = ENDLESS if max_length is None else max_length
    model = load_classifier(place, device=device, max_length=asked)
    model.max_length = min(asked, model.max_length, _longest(model))
    return model


def wrap(
    module: nn.Module, tokenizer: object, labels: Sequence[str] | None = None, max_length: int | None = None
) -> Classifier:
    """A classifier made from a module and its tokenizer, such as one that was trained in this session.

    Args:
        module: a Hugging Face sequence classifier, or a module with its `config`, `get_input_embeddings`, `base_model`,
            `dtype` and `forward`, which takes `input_ids` or `inputs_embeds` with an `attention_mask` and returns
            `.logits`, (B, K). It is put into evaluation mode and otherwise left as it is.
        tokenizer: a fast Hugging Face tokenizer.
        labels: K class names in the order of the logits; None takes those of the configuration.
        max_length: as for `load`.

    Raises:
        ValueError: the module gives no such logits, or others by embeddings than by ids, or in a padded batch than
            alone.
    """
    from attreval.models.folders import refuse_problem
    from attreval.models.transformer import Transformer

    check_length(max_length)
    lacking = [name for name in ("config", "get_input_embeddings", "base_model", "dtype") if not hasattr(module, name)]
    if lacking:
        raise ValueError(
            f"{type(module).__name__} has no {', '.join(lacking)}; give a sequence classifier of transformers, or a "
            "module that has these, and forward(input_ids or inputs_embeds, attention_mask)"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(tokenizer).__name__} is no fast tokenizer, and only these say which characters a token covers; "
            "load one with AutoTokenizer.from_pretrained(..., use_fast=True)"
        )
    refuse_problem(module.config, type(module).__name__)
    module.eval()
    numbered = getattr(module.config, "id2label", None) or {}
    names = tuple(labels) if labels is not None else tuple(str(numbered[k]) for k in sorted(numbered, key=int))
    model = Transformer(type(module).__name__, module, tokenizer, names, max_length or ENDLESS)
    model.max_length = min(model.max_length, _longest(model))
    _check_logits(model)
    return model


def check_model(model: object) -> None:
    """TypeError for what is no classifier that `load` or `wrap` has made."""
    if not all(hasattr(model, name) for name in ("family", "labels", "tokens")):
        what = f"the path {str(model)!r}" if isinstance(model, str | Path) else f"a {type(model).__name__}"
        raise TypeError(f"a model comes from attreval.load(folder) or attreval.wrap(module, tokenizer); got {what}")


def check_length(max_length: int | None) -> None:
    """ValueError for a number of tokens that no text fits into."""
    if max_length is not None and max_length < 3:
        raise ValueError(f"max_length counts tokens, special ones included, and is at least 3; got {max_length}")


def _longest(model: Classifier) -> int:
    """How many tokens a model reads: what its network has positions for and what its tokenizer was made for."""
    if model.family != "transformer":
        return model.max_length
    limits = (model.longest, getattr(model.tokenizer, "model_max_length", ENDLESS))
    return min([limit for limit in limits if limit and limit < ENDLESS], default=WITHOUT_LIMIT)


def _check_logits(model: Classifier) -> None:
    """ValueError where a wrapped module does not answer as a classifier must, by ids and by embeddings alike."""
    import torch

    from attreval.core.records import Instance
    from attreval.texts.words import words_of

    what, most = type(model.network).__name__, model.max_length
    tokens = [model.tokens(Instance(text, (text,), 0, words_of((text,)))) for text in PROBES]
    rows = [(t.ids[:most], t.segments[:most]) for t in tokens]
    with torch.inference_mode():
        try:
            alone, batch = ([_ask_twice(model, part) for part in parts] for parts in ([rows[:1], rows[1:]], [rows]))
        except (AttributeError, TypeError, IndexError) as error:
            raise ValueError(
                f"{what} does not answer as a sequence classifier of transformers does ({error}); it must take "
                "input_ids or inputs_embeds with attention_mask, and return an object with logits"
            ) from error
    shape = batch[0][0].shape
    if len(shape) != 2 or shape[1] != len(model.labels) or shape[1] < 2:
        raise ValueError(
            f"{what} gives logits of shape {tuple(shape)} for {len(rows)} texts; with {len(model.labels)} labels "
            f"({', '.join(model.labels)}) they must have shape ({len(rows)}, {len(model.labels)}), of 2 classes or more"
        )
    by_ids = np.concatenate([ids for ids, _ in alone])
    others = [np.concatenate([vectors for _, vectors in alone]), *batch[0]]
    off = max(float(np.abs(by_ids - other).max()) for other in others)
    if not off <= AGREE * max(1.0, float(np.abs(by_ids).max())):  # NaN is not
        raise ValueError(
            f"{what} gives other logits by embeddings than by ids, or other ones in a padded batch than alone (by "
            f"{off:.2g}); it cannot be explained by gradients or in batches"
        )


def _ask_twice(model: Classifier, rows) -> tuple[np.ndarray, np.ndarray]:
    """(B, K) logits of rows by their ids, and by their embeddings."""
    from attreval.models.scorer import pad_rows

    ids, mask, segments = (x.to(model.device) for x in pad_rows(rows, model.pad_id))
    by_ids = model.logits(ids, mask, segments)
    by_vectors = model.logits(None, mask, segments, embeddings=model.embed(ids))
    return by_ids.double().cpu().numpy(), by_vectors.double().cpu().numpy()
