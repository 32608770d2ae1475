"""Which attention head of the last encoder layer matters most for a class? Read off the classification head.

What leads from the first token's state to a class score (both linear maps of the classification head, the tanh between
them ignored) is taken with the signs of the state and summed over each head's part of it (Ray Choudhury et al. 2023).
The state has passed the layer's output projection, so its parts are not strictly the heads': a limit of the measure.
Letters used for shapes: B rows, H heads, L tokens, D hidden width, K classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from attreval.core.records import Cost
from attreval.models.questions import HeadScores


def class_layers(network: nn.Module) -> tuple[nn.Linear, nn.Linear]:
    """The two linear layers of a classification head, the first on hidden states, the second giving class scores.

    ValueError for a network whose head has another shape.
    """
    if hasattr(network, "classification_head"):  # BART
        return network.classification_head.dense, network.classification_head.out_proj
    last = getattr(network, "classifier", None)
    if hasattr(last, "out_proj"):  # RoBERTa, MPNet
        return last.dense, last.out_proj
    if isinstance(last, nn.Linear):
        pooler = getattr(network.base_model, "pooler", None)  # BERT; DistilBERT keeps it outside
        first = getattr(network, "pre_classifier", None) or getattr(pooler, "dense", None)
        if first is not None:
            return first, last
    raise ValueError(
        f"the classification head of {type(network).__name__} is not one of two linear layers, as in BERT, DistilBERT, "
        "RoBERTa, MPNet and BART; the most important attention head cannot be told"
    )


def class_map(network: nn.Module, matrix: str) -> Tensor:
    """(D, K) map from the first token's state to class scores.

    matrix: `transposed` as the network applies it; `code` as the code of Ray Choudhury et al. multiplies, with the
    first layer's weights untransposed and the class bias in every row.
    """
    first, last = class_layers(network)
    if matrix == "code":
        return first.weight @ (last.weight.T + last.bias)
    return first.weight.T @ last.weight.T


def first_states(network: nn.Module, ids: Tensor, mask: Tensor, segments: Tensor, state: str) -> Tensor:
    """(B, D) states of the first token `after` or `before` the last encoder layer."""
    body = network.model.encoder if network.config.is_encoder_decoder else network.base_model
    typed = not network.config.is_encoder_decoder and getattr(network.config, "type_vocab_size", 0) > 1
    inputs = {"token_type_ids": segments} if typed else {}
    states = body(input_ids=ids, attention_mask=mask, output_hidden_states=True, **inputs).hidden_states
    return states[-1 if state == "after" else -2][:, 0]


def head_scores(scorer, questions: Sequence[HeadScores], accounts: Sequence[str]) -> list[np.ndarray]:
    """(H,) importance of each head, for each question; each distinct one computed once, at one evaluation."""
    if questions and getattr(scorer.model, "family", None) != "transformer":
        raise ValueError(f"{getattr(scorer.model, 'name', 'this model')!r} has no attention heads to choose from")
    fresh: dict[Hashable, HeadScores] = {}
    for question, account in zip(questions, accounts, strict=True):
        key, length = question.key(), len(question.ids)
        known = key in scorer.answers or key in fresh
        scorer.book(account, Cost(1, 1 - known, length, 0 if known else length))
        fresh |= {} if known else {key: question}
    for state in ("after", "before"):
        order = sorted((k for k, q in fresh.items() if q.state == state), key=lambda k: -len(fresh[k].ids))
        for batch in scorer.cut([len(fresh[k].ids) for k in order]):
            part = [order[i] for i in batch]
            network = scorer.model.at(scorer.precision)
            inputs = scorer.padded([(fresh[k].ids, fresh[k].segments) for k in part])
            with torch.inference_mode():
                states = first_states(network, *inputs, state)
                signs = torch.where(states > 0, 1.0, -1.0).to(states.dtype)
                maps = {m: class_map(network, m) for m in {fresh[k].matrix for k in part}}
            for b, key in enumerate(part):
                column = maps[fresh[key].matrix][:, scorer.model.output_of(fresh[key].target)]
                shares = (column * signs[b]).view(network.config.num_attention_heads, -1).sum(dim=1)
                scorer.answers[key] = shares.double().cpu().numpy()
            if scorer.notify:
                scorer.notify(len(part))
    return [scorer.answers[q.key()] for q in questions]
