"""How fast this machine is: processor seconds a token, measured on a network of a model's shape.

The weights are random, so nothing has to be fetched.
"""

import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import torch

from attreval.models.encoder_decoder import new_bart
from attreval.models.folders import find_model
from attreval.models.placing import freeze, pick_device
from attreval.models.words.classifier import Network, Sizes
from compendium.config import ModelSpec

VOCABULARY = 30522  # of BERT, whose size MPNet's nearly has
EOS = 102
# weights of the registry: layers, hidden, heads
KNOWN = {"minilm": (6, 384, 12), "mpnet": (12, 768, 12), "smollm2": (30, 576, 9)}
# passes that one with a gradient counts as: forward, and backward, which is about twice as long
GRADIENT = 3
LEAST = 0.25  # processor seconds that a rate is measured for
REPEATS = 3  # how often at least
BATCH_TOKENS = 1024  # of the batch that is measured
GIB = 2**30
KEPT = 16  # floats a token, layer and unit of width that a backward pass keeps, about
LIBRARIES = "torch, pandas, transformers, papermill.execute, ipykernel.kernelapp, compendium.config"


def shape_of(spec: ModelSpec) -> tuple[int, int, int]:
    """Layers, hidden width and heads, from the profile, the registry's list or the folder's config.

    ValueError for weights of a hub, whose shape nobody here knows.
    """
    if spec.weights is None:
        layers = spec.layers or 1
        if spec.architecture == "encoder_decoder":
            layers += spec.decoder_layers
        return layers, spec.hidden or 1, spec.heads or 1
    if spec.weights in KNOWN:
        return KNOWN[spec.weights]
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(find_model(spec.weights), local_files_only=True)
        return config.num_hidden_layers, config.hidden_size, config.num_attention_heads
    except (OSError, AttributeError) as error:
        raise ValueError(
            f"the shape of {spec.weights!r} is not known here, so nothing can be measured on it: "
            f"{error}; give a folder that has its config.json, or one of: {', '.join(KNOWN)}"
        ) from None


class _Tokenizer(SimpleNamespace):
    """The few ids that a network's configuration asks of a tokenizer."""

    def __len__(self) -> int:
        return VOCABULARY


def build_random(spec: ModelSpec) -> torch.nn.Module:
    """A network of a model's shape, of two classes, with random weights."""
    layers, hidden, heads = shape_of(spec)
    if spec.family != "transformer":
        size = spec.embedding_size
        sizes = Sizes(spec.architecture, 1000, 2, size, hidden, spec.bidirectional, spec.kernel)
        return freeze(Network(replace(sizes, gate=spec.gate, order=spec.order)))
    if spec.architecture == "encoder_decoder":
        ids = {"cls_token_id": 101, "sep_token_id": EOS, "mask_token_id": 103, "eos_token_id": EOS}
        tokenizer = _Tokenizer(pad_token_id=0, unk_token_id=100, **ids)
        return freeze(new_bart(spec, tokenizer, {"num_labels": 2}))
    from transformers import BertConfig, BertForSequenceClassification

    shape = BertConfig(
        vocab_size=VOCABULARY,
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_attention_heads=heads,
        num_labels=2,
    )
    return freeze(BertForSequenceClassification(shape))


class Speed:
    """Processor seconds a token of one model, measured where they are asked for, and its memory."""

    def __init__(self, spec: ModelSpec, device: str = "auto"):
        self.spec = spec
        self.words = spec.family != "transformer"
        self.depth, self.width, _ = shape_of(spec)
        self.network = build_random(spec).to(pick_device(device))
        self.weights = sum(p.numel() for p in self.network.parameters())
        self.measure = cache(self._measure)

    def seconds(self, length: int, rows: int | None = None) -> float:
        """Of one token in a forward pass over rows of so many.

        rows: of a batch; as many as a ledger takes where None.
        """
        longest = max(1, min(length, self.spec.max_length))
        length = 2 ** round(float(np.log2(longest)))  # of about a length, one rate
        return self.measure(length, min(rows or BATCH_TOKENS, max(1, BATCH_TOKENS // length)))

    def _measure(self, length: int, rows: int) -> float:
        """The median of some passes; the first warms up."""
        device = next(self.network.parameters()).device
        taken: list[float] = []
        ids = torch.randint(200, 900, (rows, length), device=device)
        ids[:, -1] = EOS  # where a BART reads its class
        mask = torch.ones_like(ids)
        while len(taken) <= REPEATS or sum(taken[1:]) < LEAST:
            start = time.process_time()
            with torch.no_grad():
                if self.words:
                    self.network(self.network.embedding(ids), mask)
                else:
                    self.network(input_ids=ids, attention_mask=mask)
            taken.append(time.process_time() - start + 1e-6)
        return float(np.median(taken[1:])) / (rows * length)

    def memory(self, trains: bool, batch_tokens: int) -> float:
        """GiB at the peak: libraries, weights, and what a backward pass keeps of a batch."""
        # weights, gradients, two moments, the average and its copy; or a faster copy
        copies = 6 if trains else 1.5
        kept = batch_tokens * self.depth * self.width * KEPT
        return (0.35 if self.words else 0.75) + 4 * (copies * self.weights + kept) / GIB


@cache
def start_seconds() -> float:
    """Processor seconds that a step's process and its kernel spend on imports."""
    code = f"import os, {LIBRARIES}; print(sum(os.times()[:2]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return 2 * float(done.stdout.split()[-1])
