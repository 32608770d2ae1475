"""Attention rollout and value zeroing, one text and one token at a time, by hooks on the projection
of values.
"""

import numpy as np
import torch


def rolled_out(layers, passed):
    """(L,) row of the first token of the product of (L, L) matrices, each with rows of sum 1;
    passed: plus identity.
    """
    product = np.eye(len(layers[0]))
    for matrix in layers:
        matrix = matrix + passed * np.eye(len(matrix))
        product = np.array([row / sum(row) for row in matrix]) @ product
    return product[0]


def attention_layers(network, **given):
    """The (L, L) mean over heads of each layer's attention weights."""
    before = network.config._attn_implementation
    network.set_attn_implementation("eager")
    with torch.no_grad():
        found = network(**given, output_attentions=True).attentions
    network.set_attn_implementation(before)
    return [one[0].mean(0).numpy() for one in found]


def states(network, given):
    """(S, L, D) states behind each layer."""
    with torch.no_grad():
        return torch.stack(
            network.base_model(**given, output_hidden_states=True).hidden_states[1:]
        )[:, 0]


def zeroed_layers(network, **given):
    """(S, L, L) 1 - cos of states behind a layer in which one token's value is zero in all heads; a
    run for each.
    """
    values = [
        m
        for name, m in network.named_modules()
        if name.split(".")[-1] in ("value", "v_lin", "v", "value_proj")
    ]
    plain = states(network, given)
    out = np.zeros((len(values), *[plain.shape[1]] * 2))
    for layer, module in enumerate(values):
        for j in range(plain.shape[1]):
            handle = module.register_forward_hook(
                lambda m, i, o, j=j: o.index_fill(1, torch.tensor([j]), 0)
            )
            changed = states(network, given)[layer]
            handle.remove()
            out[layer, :, j] = 1 - torch.cosine_similarity(changed, plain[layer], dim=1).numpy()
    return out
