"""Erased tokens written anew by a masked language model, so that texts stay plausible.

The language model reads the ids of the classifier's tokenizer, so both must have the same
vocabulary.
Letters used for shapes: L tokens, m texts, V words of the vocabulary.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attreval.core.records import Tokens
from attreval.core.seeds import seed_of

BATCH = 32
Infill = Callable[[Tokens, np.ndarray], np.ndarray]


def load_infill(
    folder: str | Path, tokenizer: Any = None, device: str = "cpu", seed: int = 0
) -> Infill:
    """What writes erased tokens anew.

    All erased places are masked at once, and each word is drawn from what the language model gives
    its place; special tokens are never written. The same texts are written the same way.

    Args:
        folder: What `AutoModelForMaskedLM.save_pretrained` wrote; nothing is downloaded.
        tokenizer: The classifier's, whose vocabulary is compared with that of the folder's
            tokenizer.
        device: Where the language model computes.
        seed: Of the draws.

    Returns:
        A function (tokens, (m, L) bool kept) -> (m, L) ids.

    Raises:
        ValueError: The vocabularies differ, the model is no masked language model, or the tokens
            have no mask token.
        OSError: The folder holds no model.
    """
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    if not (Path(folder) / "config.json").is_file():
        raise FileNotFoundError(f"no masked language model is in {folder}: it has no config.json")
    network, loaded = AutoModelForMaskedLM.from_pretrained(
        folder, local_files_only=True, output_loading_info=True
    )
    if loaded["missing_keys"]:
        raise ValueError(
            f"the model in {folder} is no masked language model: "
            f"{min(loaded['missing_keys'])} is missing"
        )
    network = network.to(device).eval()
    special = []
    if tokenizer is not None:
        own = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        if own.get_vocab() != tokenizer.get_vocab():
            raise ValueError(
                f"the masked language model in {folder} has another vocabulary than the classifier"
            )
        special = list(own.all_special_ids)

    def infill(tokens: Tokens, kept: np.ndarray) -> np.ndarray:
        rows = np.where(kept, tokens.ids, tokens.mask_id)
        if tokens.mask_id in (None, tokens.pad_id):
            raise ValueError(
                "tokens are written anew in place of a mask token, and this tokenizer has none"
            )
        never = sorted(
            {*special, tokens.pad_id, tokens.mask_id, *tokens.ids[tokens.special].tolist()}
        )
        typed = getattr(network.config, "type_vocab_size", 0) > 1
        out = rows.copy()
        rng = np.random.default_rng(seed_of("infill", seed, tokens.ids.tobytes()))
        for start in range(0, len(rows), BATCH):
            batch = slice(start, start + BATCH)
            given = {"input_ids": torch.from_numpy(rows[batch]).to(device)}
            if typed:
                sides = torch.from_numpy(tokens.segments).to(device)
                given["token_type_ids"] = sides.expand_as(given["input_ids"])
            with torch.inference_mode():
                logits = network(**given).logits.double().cpu().numpy()  # (b, L, V)
            logits[..., never] = -np.inf
            # the greatest of logits with Gumbel noise is a draw from their softmax
            drawn = (logits + rng.gumbel(size=logits.shape)).argmax(axis=-1)
            out[batch] = np.where(kept[batch], rows[batch], drawn)
        return out

    return infill
