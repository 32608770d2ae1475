"""The forward pass of each architecture, by ids and word embeddings, also in padded batches.

transformers looks for the token that a decoder or XLNet is classified at by its id, or takes the
last of the row, padding or not; here it is the last token that is not masked, whatever its id. Rows
are padded at the end.
Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attreval.models.encoder_decoder import encoder_decoder_logits
from attreval.models.transformer_hooks import changed_entry


def classify(
    network: nn.Module,
    mask: Tensor,
    segments: Tensor | None = None,
    ids: Tensor | None = None,
    embeddings: Tensor | None = None,
    entering: Callable[[Tensor], Tensor] | None = None,
    past: Any = None,
) -> Tensor:
    """(B, K) logits, in the network's own order.

    Args:
        network: A sequence classifier of transformers.
        mask: (B, L), 0 marks padding.
        segments: (B, L) token types, None where the network is given none.
        ids: (B, L) token ids, or None.
        embeddings: (B, L, D) word embeddings in place of ids.
        entering: Changes the (B, L, D) vectors that enter the network.
        past: Keys and values of tokens before these, of a decoder.

    Raises:
        ValueError: `entering` is given for an encoder-decoder, which a text enters twice, or for a
            network in which no module gives the vectors.
    """
    twice = network.config.is_encoder_decoder
    if twice and entering is not None:
        raise ValueError(
            "a text enters an encoder-decoder twice; what enters it is not disturbed here"
        )
    # nothing is added to word embeddings where attention alone knows positions
    base = network.base_model
    rotary = hasattr(base, "rotary_emb") and not hasattr(base, "embeddings")  # Llama and its like
    as_words = rotary or network.config.model_type == "xlnet"
    alone = entering is not None and as_words
    if embeddings is None and (twice or alone):
        embeddings = network.get_input_embeddings()(ids)
    if twice:
        return encoder_decoder_logits(network, mask, embeddings)
    if alone and entering:
        embeddings = entering(embeddings)
        entering = None
    length = mask.shape[1]
    if network.config.model_type == "longformer":
        mask, segments, ids, embeddings = _whole_windows(network, mask, segments, ids, embeddings)
    inputs = {"inputs_embeds": embeddings}
    if embeddings is None:
        inputs = {"input_ids": ids}
    if segments is not None:
        inputs["token_type_ids"] = segments
    inputs |= _place_inputs(network, mask)
    with changed_entry(network, entering and partial(_change_within, length, entering)):
        if reads_last_token(network):
            return _last_logits(network, mask, inputs, past)
        return network(attention_mask=mask, **inputs).logits


def _place_inputs(network: nn.Module, mask: Tensor) -> dict[str, Tensor]:
    """What a network is told of places: positions, and where Longformer looks at all of a text."""
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    found = {}
    first = first_position(network)
    if first is not None:
        most = network.config.max_position_embeddings - 1  # reached by padding alone
        found["position_ids"] = (places + first).clamp(max=most)
    if network.config.model_type == "longformer":
        found["global_attention_mask"] = (places == 0).long()
    return found


def _last_logits(network: nn.Module, mask: Tensor, inputs: dict, past: Any) -> Tensor:
    """(B, K) logits that are read off the last token that is not masked."""
    more = {"use_mems": False} if hasattr(network, "sequence_summary") else {"use_cache": False}
    seen = mask
    if past is not None:
        more = {"past_key_values": past, "use_cache": True}
        seen = torch.cat([mask.new_ones(len(mask), past.get_seq_length()), mask], dim=1)
    states = network.base_model(attention_mask=seen, **inputs, **more).last_hidden_state
    rows = torch.arange(len(mask), device=mask.device)
    last = states[rows, mask.sum(dim=1) - 1]
    if hasattr(network, "score"):
        return network.score(last)
    return network.logits_proj(network.sequence_summary(last[:, None]))


def _whole_windows(network: nn.Module, mask: Tensor, *rows: Tensor | None) -> list[Tensor | None]:
    """Mask, segments, ids and embeddings padded to a multiple of Longformer's window.

    It would do so itself, but by calling its embeddings twice.
    """
    window = network.config.attention_window
    more = -mask.shape[1] % (window if isinstance(window, int) else max(window))
    out = []
    for x in (mask, *rows):
        if x is not None:
            zeros = x.new_zeros(len(x), more, *x.shape[2:])
            x = torch.cat([x, zeros], dim=1)
        out.append(x)
    return out


def _change_within(length: int, change: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A change of the first `length` vectors only, where rows are longer."""
    return torch.cat([change(x[:, :length]), x[:, length:]], dim=1)


def reads_last_token(network: nn.Module) -> bool:
    """Whether class scores are read off the last token: decoders (GPT-2, Llama) and XLNet."""
    if hasattr(network, "sequence_summary"):
        return network.sequence_summary.summary_type == "last" and hasattr(network, "logits_proj")
    return (
        isinstance(getattr(network, "score", None), nn.Linear)
        and not network.config.is_encoder_decoder
    )


def takes_types(network: nn.Module, tokenizer: Any) -> bool:
    """Whether a network is given token types: it tells them apart, and its tokenizer gives them.

    GPT-2 and XLNet do not say how many there are; transformers gives them what their tokenizer
    gives.
    """
    known = getattr(network.config, "type_vocab_size", None)
    if known is not None:
        return known > 1
    given = "token_type_ids" in getattr(tokenizer, "model_input_names", ())
    return given and "token_type_ids" in inspect.signature(network.forward).parameters


def first_position(network: nn.Module) -> int | None:
    """The position of the first token, where a model would count positions from ids.

    RoBERTa, Longformer and MPNet do, and skip what equals their padding; an erased token that
    becomes the padding id must not move the others. None for all others. `position_start` in the
    network's configuration replaces what the architecture expects.
    """
    embeddings: Any = getattr(network.base_model, "embeddings", None)
    if not hasattr(embeddings, "create_position_ids_from_inputs_embeds"):
        return None
    given = getattr(network.config, "position_start", None)
    return embeddings.padding_idx + 1 if given is None else given


def longest_text(network: nn.Module) -> int | None:
    """How many tokens the network has positions for; None where it says no limit (T5, XLNet)."""
    most = getattr(network.config, "max_position_embeddings", None)
    if most is None or most < 1:
        return None
    return most - (first_position(network) or 0)
