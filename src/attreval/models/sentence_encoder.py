"""A sentence encoder and a linear head as one network, which is read as a sequence classifier is.

Modules of sentence-transformers pool the states of a transformer, and may project and scale them.
Whatever scikit-learn fitted on these embeddings is a linear head if it is an affine map: what it
gives for unit vectors are then its weights.
Letters used for shapes: n texts, D width of embeddings, K outputs.
"""

from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attreval.core.extras import need
from attreval.core.seeds import generator
from attreval.models.checks import TEXTS, TOLERANCE, own_logits
from attreval.models.folders import estimator_names
from attreval.models.outputs import OUTPUTS, Outputs, follow
from attreval.texts.given import make_instances

BEHIND = ("Dense", "Normalize", "Dropout", "LayerNorm")  # modules that may follow the pooling
AS_FUNCTION = "a function of texts, such as predict_proba behind encode, is wrapped as it is"


class UnitLength(nn.Module):
    """Embeddings divided by their length, by functions that have rules of LRP and DeepLIFT."""

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """The features, scaled."""
        x = features["sentence_embedding"]
        squares = x.square().sum(dim=1, keepdim=True).clamp(min=1e-24)
        return features | {"sentence_embedding": x / squares.sqrt()}


class EncoderWithHead(nn.Module):
    """What is read as a sequence classifier of transformers; its weights are the encoder's own.

    Args:
        encoder: A SentenceTransformer.
        scaled: Embeddings are scaled to length 1 at the end, whatever the encoder does.
        weight, bias: (K, D) and (K,) of the head.

    Raises:
        ValueError: The encoder holds other modules than a transformer, a pooling and BEHIND.
    """

    def __init__(self, encoder: Any, scaled: bool, weight: np.ndarray, bias: np.ndarray):
        super().__init__()
        first, *steps = encoder
        kinds = [type(module).__name__ for module in encoder]
        if kinds[:2] != ["Transformer", "Pooling"] or {*kinds[2:]} - {*BEHIND}:
            raise ValueError(
                f"the encoder is made of {', '.join(kinds)}; explained are a Transformer and a "
                f"Pooling, and behind these {', '.join(BEHIND)}"
            )
        self.base_model = first.auto_model
        self.tokenizer = encoder.tokenizer
        unit = [UnitLength()] if scaled else []
        steps = [UnitLength() if type(one).__name__ == "Normalize" else one for one in steps]
        self.steps = nn.ModuleList([*steps, *unit])
        like = next(self.base_model.parameters())
        self.weight = nn.Parameter(torch.from_numpy(weight).to(like))
        self.bias = nn.Parameter(torch.from_numpy(bias).to(like))
        self.config = deepcopy(self.base_model.config)
        self.config.classifier_pooling = encoder[1].pooling_mode  # see Transformer.reads_first
        self.config.problem_type = None

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return self.weight.dtype

    def get_input_embeddings(self) -> nn.Module:
        """Of words."""
        return self.base_model.get_input_embeddings()

    def forward(self, attention_mask: Tensor, **given: Any) -> Any:
        """An object with (n, K) logits."""
        states = self.base_model(attention_mask=attention_mask, **given).last_hidden_state
        features = {"token_embeddings": states, "attention_mask": attention_mask}
        for step in self.steps:
            features = step(features)
        embedded = features["sentence_embedding"]
        return SimpleNamespace(logits=functional.linear(embedded, self.weight, self.bias))


def join_head(
    encoder: Any, head: Any, labels: Any, outputs: Outputs | None
) -> tuple[EncoderWithHead, list[str], Outputs, np.ndarray]:
    """An encoder with a head that was fitted on its embeddings.

    Args:
        encoder: A SentenceTransformer, or its folder; or a model of SetFit, which has a head.
        head: A fitted estimator of scikit-learn.
        labels: As for `attreval.wrap`.
        outputs: None takes classes where the head's probabilities are the softmax of its scores,
            independent ones where they are sigmoids, and else values.

    Returns:
        The network, names of its outputs, what these are, and (n, K) logits of TEXTS.

    Raises:
        ValueError: The head is not linear, or gives other outputs, or as `EncoderWithHead`.
        ImportError: What opens a folder is not installed.
    """
    scaled = bool(getattr(encoder, "normalize_embeddings", False))
    if hasattr(encoder, "model_head"):
        labels = encoder.labels if labels is None else labels
        head = encoder.model_head
        encoder = encoder.model_body
    elif isinstance(encoder, str | Path):
        package = need("sentence_transformers", "", f"the folder {encoder}")
        encoder = package.SentenceTransformer(str(encoder))
    embedded = encoder.encode(list(TEXTS), normalize_embeddings=scaled).astype(np.float64)
    width = embedded.shape[1]
    bias = _score(head, np.zeros((1, width)))[0]
    weight = (_score(head, np.eye(width)) - bias).T
    if not np.allclose(embedded @ weight.T + bias, _score(head, embedded), atol=TOLERANCE):
        raise ValueError(f"{type(head).__name__} is no linear map of embeddings; {AS_FUNCTION}")
    read = _read_outputs(head, weight, bias, outputs)
    single = len(bias) == 1
    names = estimator_names(head, labels, single and read != "classes")
    if single and read == "classes":  # a sigmoid is the softmax of its logit's two halves
        bias = np.append(-bias, bias) / 2
        weight = np.concatenate([-weight, weight]) / 2
    if len(names) != len(bias):
        raise ValueError(
            f"{type(head).__name__} gives {len(bias)} numbers, and there are {len(names)} names "
            f"({', '.join(names)}); labels= names each of them, in order"
        )
    network = EncoderWithHead(encoder, scaled, weight, bias)
    return network, names, read, embedded @ weight.T + bias


def _score(head: Any, embedded: np.ndarray) -> np.ndarray:
    """(n, K) numbers whose softmax or sigmoids are a head's probabilities, or its values."""
    if hasattr(head, "classes_") and not hasattr(head, "decision_function"):
        raise ValueError(f"{type(head).__name__} has no decision_function; {AS_FUNCTION}")
    ask = getattr(head, "decision_function", head.predict)
    return np.reshape(ask(embedded), (len(embedded), -1))


def _read_outputs(
    head: Any, weight: np.ndarray, bias: np.ndarray, asked: Outputs | None
) -> Outputs:
    """What a head's outputs are: asked, or by its probabilities. ValueError where these differ."""
    if not hasattr(head, "predict_proba"):
        return asked or "value"
    count = len(bias)
    wanted = generator("head").standard_normal((8, count))  # scores at which no sigmoid saturates
    points = (wanted - bias) @ np.linalg.pinv(weight, rcond=1e-6).T
    scores = points @ weight.T + bias
    given = head.predict_proba(points)[:, -count:]
    rivals = np.concatenate([0 * scores, scores], axis=1) if count == 1 else scores
    alone = follow(scores, "independent")
    could: list[tuple[Outputs, np.ndarray]] = [
        ("classes", follow(rivals, "classes")[:, -count:]),
        ("independent", alone),
        ("independent", alone / alone.sum(axis=1, keepdims=True)),
        ("value", given),
    ]
    fits = [name for name, p in could if np.allclose(given, p, atol=TOLERANCE)]
    if asked and asked not in fits:
        raise ValueError(
            f"the probabilities of {type(head).__name__} are not {OUTPUTS[asked]} of its scores; "
            f"outputs can be {', '.join(dict.fromkeys(fits))}"
        )
    return asked or fits[0]


def check_logits(model: Any, expected: np.ndarray) -> None:
    """Raise ValueError where a model gives TEXTS other logits than its encoder and head."""
    texts = make_instances([(text,) for text in TEXTS])
    logits = np.stack([own_logits(model, model.tokens(one)) for one in texts])
    difference = np.abs(logits - expected).max() / max(1.0, np.abs(expected).max())
    if difference > TOLERANCE:
        raise ValueError(
            f"the encoder's own embeddings give other logits (they differ by {difference:.2g}): it "
            "puts a prompt before a text, cuts embeddings, or computes in half precision "
            f"(encoder.float() mends that); {AS_FUNCTION}"
        )
