"""BART (Lewis et al. 2020) and T5 as classifiers: the forward pass on embeddings, and where a small BART starts from.

The text is read twice: by the encoder, and, shifted by one token, by the decoder, which attends to the encoder's
states. The decoder's state at the last token goes into the head (Lewis et al. 2020; Sun et al. 2024, section 3.3).
Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

from typing import Any

import torch
from torch import Tensor, nn


def classify(network: nn.Module, mask: Tensor, embeddings: Tensor) -> Tensor:
    """(B, K) logits of (B, L, D) word embeddings; mask 0 marks padding, at the end.

    The same as the library's own forward pass on ids, which does not take embeddings and looks for the last token by
    its id. A word counts for encoder and decoder alike, so a gradient with respect to it holds both ways.
    """
    start = getattr(network.config, "decoder_start_token_id", None)
    if start is None:
        raise ValueError(
            "the configuration has no decoder_start_token_id, the token that the decoder begins with (T5: the padding)"
        )
    first = torch.full((len(mask), 1), start, device=mask.device)
    shifted = torch.cat([network.get_input_embeddings()(first), embeddings[:, :-1]], dim=1)
    decoded = network.base_model(
        attention_mask=mask, inputs_embeds=embeddings, decoder_inputs_embeds=shifted, use_cache=False
    ).last_hidden_state
    last = mask.sum(dim=1) - 1
    return network.classification_head(decoded[torch.arange(len(mask), device=mask.device), last])


def build(spec: Any, tokenizer: Any, head: dict) -> nn.Module:
    """A BART classifier with fresh weights. spec: config.ModelSpec; head: its classes, as configuration."""
    from transformers import BartConfig, BartForSequenceClassification

    return BartForSequenceClassification(
        BartConfig(
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
    ).float()


def warm_start(network: nn.Module, encoder: nn.Module, name: str) -> None:
    """Give a BART classifier the embeddings and the lowest layers of a BERT-shaped encoder, in place.

    Encoder and decoder each start from the layers 1, 2, ... of that encoder; a decoder's attention to the encoder
    starts from the self-attention of the same layer, since both read states of the same kind (after Rothe et al. 2020).
    Raises ValueError where the sizes do not fit.
    """
    own, theirs = network.config, encoder.config
    wanted = {"hidden": own.d_model, "heads": own.encoder_attention_heads, "tokens": own.vocab_size}
    there = {"hidden": theirs.hidden_size, "heads": theirs.num_attention_heads, "tokens": theirs.vocab_size}
    if (
        theirs.model_type != "bert"
        or wanted != there
        or max(own.encoder_layers, own.decoder_layers) > len(encoder.encoder.layer)
    ):
        raise ValueError(
            f"an encoder-decoder of {wanted} and {own.encoder_layers} + {own.decoder_layers} layers cannot start from "
            f"{name}: {theirs.model_type} with {there} and {len(encoder.encoder.layer)} layers; give it the same "
            "`hidden`, `heads` and `tokenizer`, and at most as many layers"
        )
    embeddings, part = encoder.embeddings, network.model
    with torch.no_grad():
        part.shared.weight.copy_(embeddings.word_embeddings.weight)
        places = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        for side in (part.encoder, part.decoder):
            side.embed_positions.weight[2 : 2 + len(places)] = places
            side.layernorm_embedding.load_state_dict(embeddings.LayerNorm.state_dict())
            for layer, source in zip(side.layers, encoder.encoder.layer, strict=False):
                _copy_attention(layer.self_attn, layer.self_attn_layer_norm, source.attention)
                if side is part.decoder:
                    _copy_attention(layer.encoder_attn, layer.encoder_attn_layer_norm, source.attention)
                layer.fc1.load_state_dict(source.intermediate.dense.state_dict())
                layer.fc2.load_state_dict(source.output.dense.state_dict())
                layer.final_layer_norm.load_state_dict(source.output.LayerNorm.state_dict())


def _copy_attention(attention: nn.Module, norm: nn.Module, source: nn.Module) -> None:
    """Copy a BERT attention block into a BART one and the normalisation behind it."""
    for name in ("query", "key", "value"):
        getattr(attention, f"{name[0]}_proj").load_state_dict(getattr(source.self, name).state_dict())
    attention.out_proj.load_state_dict(source.output.dense.state_dict())
    norm.load_state_dict(source.output.LayerNorm.state_dict())
