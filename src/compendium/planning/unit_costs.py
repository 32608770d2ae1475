"""What one token costs on this machine: processor seconds of a model's passes, measured on a network of its shape.

The weights are random, so nothing has to be fetched, and a rate is measured only where a plan asks for it. Batches are
filled as the ledger fills them. Letters used for shapes: B rows, L tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import numpy as np
import torch

from attreval.models.encoder_decoder import build
from attreval.models.folders import find_model
from attreval.models.placing import freeze, pick_device
from attreval.models.questions import Evaluate, PathGradient
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer
from attreval.models.words.classifier import Network, Sizes, WordClassifier
from compendium.config import ModelSpec

WORDS = 30522  # of the vocabularies of BERT and MPNet, which have nearly the same size
KNOWN = {"minilm": (6, 384, 12), "mpnet": (12, 768, 12)}  # weights of the registry: layers, hidden, heads
LEAST, MOST, REPEATS = 0.25, 1.0, 3  # processor seconds that a rate is measured for, and how often at least
KERNEL = 3.0  # processor seconds of papermill's process and of opening tables and weights, from a run of `quick`
TRAINED = 1024  # tokens of the batch that a training step is measured on, at most
AT_ONCE = {"transformer": 512, "recurrent": 4096, "quasi": 4096, "convolutional": 1024}


class _Tokenizer(SimpleNamespace):
    """The few ids that a network's configuration asks of a tokenizer."""

    def __len__(self) -> int:
        return WORDS


def shape_of(spec: ModelSpec) -> tuple[int, int, int]:
    """Layers, hidden width and heads of a transformer, from the profile, the registry's list or the folder's config.

    ValueError for weights of a hub, whose shape nobody here knows.
    """
    if spec.weights is None:
        return (
            spec.layers + (spec.decoder_layers if spec.architecture == "encoder_decoder" else 0),
            spec.hidden,
            spec.heads,
        )
    if spec.weights in KNOWN:
        return KNOWN[spec.weights]
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(find_model(spec.weights), local_files_only=True)
        return config.num_hidden_layers, config.hidden_size, config.num_attention_heads
    except (OSError, AttributeError) as error:
        raise ValueError(
            f"the shape of {spec.weights!r} is not known here, so nothing can be measured on it: {error}; give a "
            f"folder that has its config.json, or one of: {', '.join(KNOWN)}"
        ) from None


def build_random(spec: ModelSpec, classes: int, device: str = "auto") -> Transformer | WordClassifier:
    """A classifier of the shape that a profile gives to a model, with random weights and no tokenizer."""
    labels = tuple(str(k) for k in range(classes))
    if spec.architecture not in ("transformer", "encoder_decoder"):
        sizes = Sizes(
            *(spec.architecture, 1000, classes, spec.embedding_size, spec.hidden, spec.bidirectional, spec.kernel),
            *(spec.dropout, spec.gate, spec.order),
        )
        network = freeze(Network(sizes)).to(pick_device(device))
        return WordClassifier(
            spec.architecture, network, tuple(f"w{i}" for i in range(998)), sizes, labels, spec.max_length
        )
    from transformers import BertConfig, BertForSequenceClassification

    ids = _Tokenizer(
        pad_token_id=0, unk_token_id=100, cls_token_id=101, sep_token_id=102, mask_token_id=103, eos_token_id=102
    )
    if spec.architecture == "encoder_decoder":
        network = build(spec, ids, {"num_labels": classes})
    else:
        layers, hidden, heads = shape_of(spec)
        network = BertForSequenceClassification(
            BertConfig(
                vocab_size=WORDS,
                num_hidden_layers=layers,
                hidden_size=hidden,
                num_attention_heads=heads,
                intermediate_size=4 * hidden,
                num_labels=classes,
            )
        )
    model = Transformer(spec.weights or "random", freeze(network).to(pick_device(device)), ids, labels, spec.max_length)
    model.refusals["embeddings"] = ""  # what is built here takes embeddings; trying it out needs a tokenizer
    return model


class Rates:
    """Processor seconds a token of one model, by what the token passes and the length of its row."""

    def __init__(self, spec: ModelSpec, classes: int, device: str = "auto"):
        self.spec, self.model, self.rng = spec, build_random(spec, classes, device), np.random.default_rng(0)
        self.known: dict[tuple, float] = {}
        words = isinstance(self.model, WordClassifier)
        self.depth, self.width = (1, spec.hidden) if words else shape_of(spec)[:2]

    def seconds(self, what: str, length: int, *more) -> float:
        """Of one token of a row of so many; of `erased`, of one text with every window of a size erased."""
        length = min(length, self.spec.max_length)
        key = (what, length, *more)
        if key not in self.known:
            self.known[key] = self._measure(what, length, *more)
        return self.known[key]

    def _measure(self, what: str, length: int, *more) -> float:
        if what == "erased":
            (ids, _), (size,) = self._rows(1, length)[0], more
            return self._time(lambda: self.model.erased(torch.from_numpy(ids), size, True), 1)
        rows = max(1, AT_ONCE[self.model.family] // length)
        if what.startswith("train"):
            # a recurrent network takes a step a word, whatever the batch: there the batch itself is measured
            batch = max(1, min(more[0], TRAINED // length)) if self.model.family == "transformer" else more[0]
            return self._time(self._training_step(what.split()[1], length, batch), batch * length)
        if what == "gradient":
            return self._time(
                lambda: self._ask(PathGradient(*row, 0) for row in self._rows(rows, length)), rows * length
            )
        precision = what.split()[1]
        return self._time(
            lambda: self._ask(Evaluate([i], [s], precision=precision) for i, s in self._rows(rows, length)),
            rows * length,
        )

    def _ask(self, questions) -> None:
        """Have a fresh ledger answer questions."""
        asked = list(questions)
        Scorer(self.model).answer(asked, ["rate"] * len(asked))

    def _rows(self, count: int, length: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows of random ids."""
        return [(self.rng.integers(200, 900, length), np.zeros(length, dtype=np.int64)) for _ in range(count)]

    def _training_step(self, precision: str, length: int, rows: int) -> Callable[[], None]:
        """One step of AdamW on a batch, as models.training takes it."""
        from attreval.models.placing import in_precision

        network = in_precision(self.model.network, {}, "float64").float().train().requires_grad_(True)
        one = type(self.model)(
            **{name: getattr(self.model, name) for name in _fields(self.model)} | {"network": network}
        )
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5, fused=True)
        ids = torch.from_numpy(np.stack([ids for ids, _ in self._rows(rows, length)])).to(one.device)
        inputs, gold = (ids, torch.ones_like(ids), torch.zeros_like(ids)), torch.zeros(rows, dtype=torch.long)

        def step():
            with torch.enable_grad(), torch.autocast(one.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
                loss = torch.nn.functional.cross_entropy(one.logits(*inputs).float(), gold.to(one.device))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return step

    @staticmethod
    def _time(call: Callable[[], object], units: float) -> float:
        """Processor seconds a unit: the median of repeats; the first warms up, and counts only where it was long."""
        taken = []
        while not taken or (sum(taken) < MOST and (sum(taken[1:]) < LEAST or len(taken) <= REPEATS)):
            start = time.process_time()
            call()
            taken.append(time.process_time() - start + 1e-6)
        return float(np.median(taken[1:] or taken)) / units


def _fields(model) -> list[str]:
    """The arguments that a classifier was made with, but not its network and its copies."""
    from dataclasses import fields

    return [f.name for f in fields(model) if f.init and f.name not in ("network", "copies")]


@cache
def start_seconds(transformer: bool) -> float:
    """Processor seconds in which a step starts: kernel, imports, and where a model is loaded torch and transformers.

    Imports are measured in a fresh process; the rest (papermill's own process, opening weights) is KERNEL.
    """
    import subprocess
    import sys

    code = "import os, pandas, compendium.config" + (
        ", torch; from transformers import AutoTokenizer, BertForSequenceClassification" if transformer else ""
    )
    out = subprocess.run([sys.executable, "-c", f"{code}; print(sum(os.times()[:2]))"], capture_output=True, text=True)
    return KERNEL + float(out.stdout.split()[-1])
