"""BART (Lewis et al. 2020) and T5 as classifiers, and where a small BART starts from.

The text is read twice: by the encoder, and, shifted by one token, by the decoder, which attends to
the encoder's states. The decoder's state at the last token goes into the head (Lewis et al. 2020;
Sun et al. 2024, section 3.3).
Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

from typing import Any

import torch
from torch import Tensor, nn

_LAYER = {  # module of a BART layer -> where that of a BERT layer stands
    "fc1": "intermediate.dense",
    "fc2": "output.dense",
    "final_layer_norm": "output.LayerNorm",
}


def encoder_decoder_logits(network: nn.Module, mask: Tensor, embeddings: Tensor) -> Tensor:
    """(B, K) logits of word embeddings.

    The same as the library's own forward pass on ids, which does not take embeddings and looks for
    the last token by its id. A word counts for encoder and decoder alike, so a gradient with
    respect to it holds both ways.

    Args:
        network: BART's or T5's classifier.
        mask: (B, L), 0 marks padding, at the end.
        embeddings: (B, L, D).

    Raises:
        ValueError: The configuration has no token that the decoder begins with.
    """
    start = getattr(network.config, "decoder_start_token_id", None)
    if start is None:
        raise ValueError(
            "the configuration has no decoder_start_token_id, the token that the decoder begins "
            "with (T5: the padding)"
        )
    first = torch.full((len(mask), 1), start, device=mask.device)
    shifted = torch.cat([network.get_input_embeddings()(first), embeddings[:, :-1]], dim=1)
    decoded = network.base_model(
        attention_mask=mask,
        inputs_embeds=embeddings,
        decoder_inputs_embeds=shifted,
        use_cache=False,
    )
    rows = torch.arange(len(mask), device=mask.device)
    last = mask.sum(dim=1) - 1
    return network.classification_head(decoded.last_hidden_state[rows, last])


def new_bart(spec: Any, tokenizer: Any, head: dict) -> nn.Module:
    """A BART classifier with fresh weights.

    Args:
        spec: config.ModelSpec.
        tokenizer: Of the model.
        head: Its classes, as configuration.
    """
    from transformers import BartConfig, BartForSequenceClassification

    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=spec.hidden,
        encoder_layers=spec.layers,
        decoder_layers=spec.decoder_layers,
        encoder_attention_heads=spec.heads,
        decoder_attention_heads=spec.heads,
        encoder_ffn_dim=4 * spec.hidden,
        decoder_ffn_dim=4 * spec.hidden,
        max_position_embeddings=512,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.sep_token_id,
        forced_eos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
        **head,
    )
    return BartForSequenceClassification(config).float()


def warm_start(network: nn.Module, encoder: nn.Module, name: str) -> None:
    """Give a BART classifier the embeddings and lowest layers of a BERT-shaped encoder.

    Encoder and decoder each start from the layers 1, 2, ... of that encoder; a decoder's attention
    to the encoder starts from the self-attention of the same layer, since both read states of the
    same kind (after Rothe et al. 2020).

    Args:
        network: The classifier.
        encoder: The encoder.
        name: Of the encoder, for messages.

    Raises:
        ValueError: The sizes do not fit.
    """
    own = network.config
    theirs = encoder.config
    sources = encoder.encoder.layer
    wanted = {"hidden": own.d_model, "heads": own.encoder_attention_heads, "tokens": own.vocab_size}
    there = {
        "hidden": theirs.hidden_size,
        "heads": theirs.num_attention_heads,
        "tokens": theirs.vocab_size,
    }
    deeper = max(own.encoder_layers, own.decoder_layers) > len(sources)
    if theirs.model_type != "bert" or wanted != there or deeper:
        raise ValueError(
            f"an encoder-decoder of {wanted} and {own.encoder_layers} + {own.decoder_layers} "
            f"layers cannot start from {name}: {theirs.model_type} with {there} and {len(sources)} "
            "layers; give it the same `hidden`, `heads` and `tokenizer`, and at most as many layers"
        )
    embeddings = encoder.embeddings
    part = network.model
    with torch.no_grad():
        part.shared.weight.copy_(embeddings.word_embeddings.weight)
        places = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        for side in (part.encoder, part.decoder):
            side.embed_positions.weight[2 : 2 + len(places)] = places
            side.layernorm_embedding.load_state_dict(embeddings.LayerNorm.state_dict())
            for layer, source in zip(side.layers, sources, strict=False):
                names = {**_LAYER, **_attention_names("self_attn")}
                if side is part.decoder:
                    names |= _attention_names("encoder_attn")
                for name, place in names.items():
                    weights = source.get_submodule(place).state_dict()
                    layer.get_submodule(name).load_state_dict(weights)


def _attention_names(block: str) -> dict[str, str]:
    """Module of a BART attention block, or its normalisation -> where that of BERT stands."""
    return {
        f"{block}.q_proj": "attention.self.query",
        f"{block}.k_proj": "attention.self.key",
        f"{block}.v_proj": "attention.self.value",
        f"{block}.out_proj": "attention.output.dense",
        f"{block}_layer_norm": "attention.output.LayerNorm",
    }
