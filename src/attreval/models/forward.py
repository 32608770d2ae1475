"""The forward pass of each architecture, by ids and by word embeddings alike, alone and in padded
batches.

transformers looks for the token that a decoder or XLNet is classified at by its id, or takes the
last of the row, padding or not; here it is the last token that is not masked, whatever its id. Rows
are padded at the end. Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attreval.models import encoder_decoder
from attreval.models.transformer_hooks import changed_entry


def classify(
    network: nn.Module,
    mask: Tensor,
    segments: Tensor | None = None,
    ids: Tensor | None = None,
    embeddings: Tensor | None = None,
    entering: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """(B, K) logits, in the network's own order, of (B, L) ids or of (B, L, D) word embeddings;
    mask 0 marks padding.

    segments: (B, L) token types, None where the network is given none. entering: changes the (B, L,
    D) vectors that enter the network. ValueError for an encoder-decoder, which they enter twice,
    and where no module gives them.
    """
    if network.config.is_encoder_decoder:
        if entering is not None:
            raise ValueError(
                "a text enters an encoder-decoder twice; what enters it is not disturbed here"
            )
        vectors = network.get_input_embeddings()(ids) if embeddings is None else embeddings
        return encoder_decoder.classify(network, mask, vectors)
    base = network.base_model
    rotary = hasattr(base, "rotary_emb") and not hasattr(base, "embeddings")  # Llama and its like
    if entering is not None and (rotary or network.config.model_type == "xlnet"):
        # attention alone knows positions: nothing is added to the word embeddings
        vectors = network.get_input_embeddings()(ids) if embeddings is None else embeddings
        embeddings = entering(vectors)
        ids = None
        entering = None
    length = mask.shape[1]
    if network.config.model_type == "longformer":
        mask, segments, ids, embeddings = _whole_windows(network, mask, segments, ids, embeddings)
    inputs: dict[str, Any] = (
        {"input_ids": ids} if embeddings is None else {"inputs_embeds": embeddings}
    )
    if segments is not None:
        inputs["token_type_ids"] = segments
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    first = first_position(network)
    if first is not None:
        most = network.config.max_position_embeddings - 1  # reached by padding alone
        inputs["position_ids"] = (places + first).clamp(max=most)
    if network.config.model_type == "longformer":
        inputs["global_attention_mask"] = (places == 0).long()
    with changed_entry(network, entering and _within(entering, length)):
        if not reads_last_token(network):
            return network(attention_mask=mask, **inputs).logits
        more = {"use_mems": False} if hasattr(network, "sequence_summary") else {"use_cache": False}
        states = network.base_model(attention_mask=mask, **inputs, **more).last_hidden_state
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
    out: list[Tensor | None] = []
    for x in (mask, *rows):
        if x is not None:
            zeros = x.new_zeros(len(x), more, *x.shape[2:])
            x = torch.cat([x, zeros], dim=1)
        out.append(x)
    return out


def _within(change: Callable[[Tensor], Tensor], length: int) -> Callable[[Tensor], Tensor]:
    """A change of the first `length` vectors only, where rows are longer."""

    def changed(x: Tensor) -> Tensor:
        inside = change(x[:, :length])
        return torch.cat([inside, x[:, length:]], dim=1)

    return changed


def reads_last_token(network: nn.Module) -> bool:
    """Whether the class scores are read off the last token: decoders (GPT-2, Llama, Qwen), and
    XLNet.
    """
    if hasattr(network, "sequence_summary"):
        return network.sequence_summary.summary_type == "last" and hasattr(network, "logits_proj")
    return (
        isinstance(getattr(network, "score", None), nn.Linear)
        and not network.config.is_encoder_decoder
    )


def takes_types(network: nn.Module, tokenizer: Any) -> bool:
    """Whether a network is to be given token types: it tells them apart, and its tokenizer gives
    them.

    GPT-2 and XLNet do not say how many there are; transformers gives them what their tokenizer
    gives.
    """
    known = getattr(network.config, "type_vocab_size", None)
    if known is not None:
        return known > 1
    given = "token_type_ids" in getattr(tokenizer, "model_input_names", ())
    return given and "token_type_ids" in inspect.signature(network.forward).parameters


def first_position(network: nn.Module) -> int | None:
    """The position of the first token, where a model would count positions from ids and skip what
    equals its padding.

    RoBERTa, Longformer and MPNet do; an erased token that becomes the padding id must not move the
    others. None for all others. `position_start` in the network's configuration replaces what the
    architecture expects.
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
