"""Checks of a transformer: is it read as transformers would read it, and what can it answer?

Loaded or wrapped, a model is read alone and in a padded batch, by ids and by word embeddings; every
way must give the logits of its own forward pass. What else a question needs is tried out when it is
first needed, on the same two texts.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attreval.core.records import Instance, Tokens
from attreval.models.placing import evaluating
from attreval.models.questions.question import to_array
from attreval.models.scorer import Scorer

TOLERANCE = 1e-4  # of logits, of the largest where that is more than 1
TEXTS = ("a good film", "it was not as bad as they had said in 1999, was it?")
_near = partial(torch.allclose, atol=10 * TOLERANCE)
# NotImplementedError is a RuntimeError, IndexError and KeyError are LookupErrors
_BROKEN = (ValueError, RuntimeError, TypeError, LookupError, AttributeError)


class LogitDifference(NamedTuple):
    """How far logits are from transformers' own.

    Attributes:
        difference: The largest difference; NaN where reading fails.
        failure: How it failed.
    """

    difference: float
    failure: str = ""

    def __str__(self) -> str:
        return self.failure or f"{self.difference:.2g}"


def probe_texts(model: Any) -> tuple[Tokens, Tokens]:
    """A short and a longer text as the model reads them, of words that its vocabulary knows.

    Raises:
        ValueError: The tokenizer turns every text into unknown tokens.
    """
    tokenizer = model.tokenizer
    vocabulary = tokenizer.get_vocab()
    special = set(tokenizer.all_special_tokens)  # made anew each time it is asked for
    known = [text for text in sorted(vocabulary, key=vocabulary.get) if text not in special]
    plain = [text for text in known if text.isalnum()][-12:] or known[-12:]
    for texts in (TEXTS, (" ".join(plain[:2]), " ".join(plain))):
        probes = [Instance("probe", (text,), 0, np.zeros((0, 3))) for text in texts]
        try:
            short, long = map(model.tokens, probes)
        except ValueError:  # no token at all
            continue
        ids = np.concatenate([short.ids[short.content], long.ids[long.content]])
        if tokenizer.unk_token_id is None or (ids != tokenizer.unk_token_id).any():
            return short, long
    raise ValueError(
        f"the tokenizer of {model.name} turns every word into {tokenizer.unk_token}: it is not "
        "the one that the model was trained with, or its files are lost"
    )


def rows_of(model: Any, texts: Sequence[Tokens]) -> tuple[Tensor, Tensor, Tensor]:
    """(n, L) ids, mask and segments of texts, padded at the end."""
    return Scorer(model).padded([(one.ids, one.segments) for one in texts])


def own_logits(model: Any, one: Tokens, precision: str = "float32") -> np.ndarray:
    """(K,) logits of transformers' own forward pass of a text alone.

    Args:
        model: A Transformer.
        one: The text.
        precision: Of the pass.

    Raises:
        ValueError: The logits have another shape.
    """
    ids, mask, segments = rows_of(model, (one,))
    given = {"input_ids": ids, "attention_mask": mask}
    if model.typed:
        given["token_type_ids"] = segments
    start = getattr(model.network.config, "position_start", None)
    if start is not None:  # not what the architecture expects, and wanted so
        given["position_ids"] = torch.arange(start, start + len(one), device=ids.device)[None]
    with evaluating(model.network), torch.inference_mode():
        network = model.at(precision)
        logits = model.prompt.own_logits(network, one) if model.prompt else network(**given).logits
    count = len(model.labels)
    if tuple(logits.shape) != (1, count):
        raise ValueError(
            f"it gives logits of shape {tuple(logits.shape)} for a text; with {count} labels "
            f"({', '.join(model.labels)}) they must have shape (1, {count})"
        )
    return to_array(model.class_scores(logits)[0])


def compare_readings(model: Any, precision: str = "float32") -> dict[str, LogitDifference]:
    """How far logits are from transformers' own, relative to the largest above 1, for two texts.

    Args:
        model: A Transformer.
        precision: Of the passes.

    Returns:
        By way of reading: ids and embeddings, each alone and in a batch with padding.

    Raises:
        ValueError: transformers' own pass fails.
    """
    texts = probe_texts(model)
    try:
        own = np.stack([own_logits(model, one, precision) for one in texts])
    except _BROKEN as error:
        raise ValueError(
            f"{model.name} cannot be asked as a sequence classifier of transformers is, with "
            f"input_ids and attention_mask for an object with logits: {_in_short(error)}"
        ) from error
    if not np.isfinite(own).all():
        raise ValueError(
            f"{model.name} gives logits that are not finite, {own[0]}, on a plain text"
        )
    size = max(1.0, np.abs(own).max())
    ways: dict[str, list[Sequence[Tokens]]] = {
        "alone": [[one] for one in texts],
        "in a batch": [texts],
    }
    found = {}
    for by, (way, batches) in product(("ids", "embeddings"), ways.items()):
        try:
            logits = np.concatenate([_read(model, batch, by, precision) for batch in batches])
            found[f"{by} {way}"] = LogitDifference(float(np.abs(logits - own).max() / size))
        except _BROKEN as error:
            found[f"{by} {way}"] = LogitDifference(np.nan, _in_short(error))
    return found


def _in_short(error: Exception) -> str:
    """What an error says of a model, in one line; a full GPU says nothing of it, and is raised."""
    if isinstance(error, torch.OutOfMemoryError):
        raise error
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _read(model: Any, texts: Sequence[Tokens], by: str, precision: str) -> np.ndarray:
    """(n, K) logits of a batch by ids or by embeddings."""
    ids, *more = rows_of(model, texts)
    with evaluating(model.network), torch.inference_mode():
        if by == "ids":
            return to_array(model.logits(ids, *more, precision))
        vectors = model.embed(ids, precision)
        return to_array(model.logits(None, *more, precision, embeddings=vectors))


def check_readings(model: Any) -> dict[str, str]:
    """What a model refuses from the start.

    Returns:
        Under `embeddings` the reason where only reading by ids is right, else empty.

    Raises:
        ValueError: The logits by ids are not transformers' own, alone or in a batch.
    """
    wrong = _list_wrong(model, "float32")
    if wrong:  # rounding, or another number? a large network may round by more than is allowed
        there = "float64" in model.copies
        with suppress(ValueError):  # what cannot be computed so, such as products of integers
            wrong = _list_wrong(model, "float64")
        if not there:
            model.copies.pop("float64", None)
    ways: dict[str, list[str]] = {}
    for way, read in wrong.items():
        ways.setdefault(str(read), []).append(way)
    said = "; ".join(f"{' and '.join(names)}: {read}" for read, names in ways.items())
    by_ids = [way for way in wrong if way.startswith("ids")]
    if by_ids:
        how = "are not transformers'"
        if by_ids == ["ids in a batch"]:
            how = "change with what stands beside a text in a batch"
        raise ValueError(
            f"{model.name}, a {type(model.network).__name__}, cannot be explained rightly here: "
            f"its logits by ids {how} ({said}; allowed is {TOLERANCE:g})"
        )
    reason = (
        f"its logits by word embeddings differ from those by ids ({said}), so gradients would be "
        "of another model"
    )
    return {"embeddings": reason if wrong else ""}


def _list_wrong(model: Any, precision: str) -> dict[str, LogitDifference]:
    """The ways of reading whose logits are not transformers' own within the tolerance."""
    readings = compare_readings(model, precision)
    return {way: read for way, read in readings.items() if not read.difference <= TOLERANCE}


def _attention(model: Any) -> str:
    """Encoder layers must show (B, H, L, L) weights whose rows sum to 1; logits must stay."""
    if not model.reads_first and not model.network.config.is_encoder_decoder and model.causal:
        return (
            "it is a decoder, in which a token attends to those before it only; attention is "
            "read of encoders"
        )
    rows = rows_of(model, probe_texts(model))
    ids, mask, _ = rows
    logits, seen = model.attend(*rows, wanted=range(model.layers))
    if len(seen) != model.layers:
        return f"{len(seen)} of its {model.layers} layers show their attention weights"
    count, length = ids.shape
    for weights in seen.values():
        shape = tuple(weights.shape)
        if len(shape) != 4 or (shape[0], *shape[2:]) != (count, length, length):
            return f"its attention weights are {shape}, not from every token to every token"
        kept = mask.bool()[:, None].expand(shape[:3])
        sums = weights.double().sum(dim=-1)[kept]
        if not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
            return "what it attends with does not sum to 1"
    if not _near(logits, model.logits(*rows), rtol=10 * TOLERANCE):
        return "its logits change when its attention weights are looked at"
    return ""


def _first_token(model: Any) -> str:
    """Attention or the state of the first token is of use only where that sums up the text."""
    if not model.reads_first or not all(text.special[0] for text in probe_texts(model)):
        return (
            "its classes are not read off a first token such as [CLS], whose attention or state "
            "is asked for"
        )
    return ""


def _summary(model: Any) -> str:
    """Attention from layer to layer must lead to the state that the classes are read off."""
    if model.network.config.is_encoder_decoder:
        return (
            "its classes are read off its decoder, to whose states the layers of its encoder "
            "alone do not lead"
        )
    return model.refusal("attention") or model.refusal("first token")


def _layers(model: Any) -> str:
    """Each encoder layer must give the same states when it is run again alone."""
    from attreval.models.transformer_hooks import run_layers, run_without

    rows = rows_of(model, probe_texts(model)[1:])
    calls = run_layers(model, *rows)
    if len(calls) != model.layers:
        return f"{len(calls)} of its {model.layers} layers can be told from what they take and give"
    for call in calls:
        again = run_without(call, torch.full((2,), -1, device=rows[0].device))
        if again.shape[1:] != call.state.shape[1:] or not _near(again, call.state):
            return "a layer that is run again alone gives other states"
    return ""


def _bias(model: Any) -> str:
    """A number added to attention scores must reach every layer."""
    rows = rows_of(model, probe_texts(model))
    nothing = torch.zeros_like(rows[0], dtype=torch.float64)[:, None, None]
    same = _near(model.logits(*rows, bias=nothing), model.logits(*rows))
    return "" if same else "a bias of 0 changes its logits"


def _entry(model: Any) -> str:
    """What enters must be (B, L, width), and give the same logits when handed on as it is."""
    rows = rows_of(model, probe_texts(model))
    shape = (*rows[0].shape, model.width)
    seen = []

    def look(x: Tensor) -> Tensor:
        seen.append(tuple(x.shape))
        return x

    logits = model.logits(*rows, entering=look)
    times = len(model.prompt.begun) if model.prompt else 1
    if seen != [shape] * times:
        return f"the vectors that enter it have shapes {seen}, not once {shape}"
    same = _near(logits, model.logits(*rows))
    return "" if same else "what enters it cannot be told apart"


def _deeplift(model: Any) -> str:
    """captum must be able to put its rule into the network."""
    from attreval.models.questions import DEEPLIFT

    ids, *more = rows_of(model, probe_texts(model))
    targets = torch.zeros_like(ids[:, 0])
    with torch.enable_grad():
        try:
            scores = model.relevance(model.embed(ids), *more, targets, DEEPLIFT)
        except ImportError as error:
            return str(error)
    finite = torch.isfinite(scores).all()
    return "" if finite else "captum's DeepLIFT gives no finite numbers for it"


def _lrp(model: Any) -> str:
    """Every function called must have a rule: all relevance reaches the text or a bias."""
    from attreval.models.transformer_lrp import unaccounted

    ids, *more = rows_of(model, probe_texts(model))
    missing = unaccounted(model, model.embed(ids), *more)
    if missing <= TOLERANCE:
        return ""
    return (
        f"{missing:.2g} of the relevance gets lost or made up on its way to the words (allowed "
        f"is {TOLERANCE:g}): something in it has no rule of LRP"
    )


def _complete_deeplift(model: Any) -> str:
    """Scores must sum to the difference of logits from zero embeddings."""
    from attreval.models.questions import DEEPLIFT_COMPLETE

    ids, *more = rows_of(model, probe_texts(model))
    vectors = model.embed(ids)
    targets = torch.zeros_like(ids[:, 0])
    scores = model.relevance(vectors, *more, targets, DEEPLIFT_COMPLETE)
    end = model.logits(None, *more, embeddings=vectors)
    start = model.logits(None, *more, embeddings=torch.zeros_like(vectors))
    owed = (end - start)[:, 0]
    gaps = scores.sum(dim=(1, 2)) - owed
    missing = float((gaps.abs() / owed.abs().clamp(min=1)).max())
    if missing <= 10 * TOLERANCE:
        return ""
    return (
        f"its scores miss the difference of logits that they owe by {missing:.2g} (allowed is "
        f"{10 * TOLERANCE:g}): either zero embeddings leave it nothing to normalise, or it mixes "
        "up rows of a batch"
    )


class Probe(NamedTuple):
    """What can be needed of a transformer.

    Attributes:
        said: In words.
        ask: Why a model lacks it; empty where it does not.
        first: What is needed for that in turn.
    """

    said: str
    ask: Callable[[Any], str]
    first: tuple[str, ...] = ()


PROBES = {
    "embeddings": Probe(
        "gradients by word embeddings", lambda model: check_readings(model)["embeddings"]
    ),
    "attention": Probe("attention weights", _attention),
    "first token": Probe("attention of the first token", _first_token),
    "summary": Probe("attention from layer to layer (attention rollout)", _summary),
    "layers": Probe("layers run again alone (value zeroing)", _layers),
    "bias": Probe(
        "numbers added to attention scores (soft erasure by attention)", _bias, ("attention",)
    ),
    "entry": Probe("vectors that enter the network (soft erasure)", _entry),
    "deeplift": Probe("DeepLIFT by captum", _deeplift, ("embeddings",)),
    "complete deeplift": Probe(
        "DeepLIFT by the rescale rule in every layer", _complete_deeplift, ("embeddings",)
    ),
    "lrp": Probe("layer-wise relevance propagation", _lrp, ("embeddings",)),
}


def try_out(model: Any, need: str) -> str:
    """Why a transformer cannot answer what needs this (a key of PROBES); empty where it can."""
    probe = PROBES[need]
    try:
        with evaluating(model.network), torch.no_grad():
            lacking = filter(None, map(model.refusal, probe.first))
            return next(lacking, "") or probe.ask(model)
    except ValueError as error:
        return str(error)
    except _BROKEN as error:
        return f"tried out, it fails with {_in_short(error)}"
