"""How a measurement is taken, the same on every side: arguments, texts, clock, counted rows, one
JSON line each.

Read by scripts in environments of their own, so it needs the standard library and torch alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

# explained once before the clock starts: imports and caches are not what is measured
WARM_UP = (
    "a short text .",
    "",
)


@dataclass(frozen=True)
class Line:
    """One measurement.

    who: ours or a peer. what: the task, by the same name on every side. setting: how it was set
    (`default`, `batch 16`). texts: how many were read. seconds: of the processor in the process, or
    of the wall on a GPU (`clock`).
    rows, tokens: that the network read, special tokens in, padding out; gradient_tokens: those of
        them with a gradient.
    peak_mb: the most memory held meanwhile, of the process or of the GPU.
    """

    who: str
    what: str
    setting: str
    repeat: int
    texts: int
    seconds: float
    rows: int
    tokens: int
    peak_mb: float
    gradient_tokens: int = 0
    clock: str = "processor"


@dataclass
class Counted:
    """Rows and tokens that a network has read."""

    rows: int = 0
    tokens: int = 0
    gradient_tokens: int = 0


def parser(about: str) -> argparse.ArgumentParser:
    """The arguments that every script takes."""
    found = argparse.ArgumentParser(description=about)
    found.add_argument(
        "--model", type=Path, required=True, help="folder of a sequence classifier (safetensors)"
    )
    found.add_argument(
        "--texts", type=Path, required=True, help="csv with a column text, and other for pairs"
    )
    found.add_argument("--count", type=int, default=5, help="how many texts of it")
    found.add_argument(
        "--repeat", type=int, default=1, help="the number of this repeat, written into each line"
    )
    found.add_argument("--what", default=".*", help="regular expression: what to measure")
    found.add_argument("--threads", type=int, default=1)
    found.add_argument("--device", default="cpu", help="cpu, or cuda: then seconds are of the wall")
    found.add_argument(
        "--budget",
        type=int,
        default=300,
        help="model evaluations of sampling methods beside captum and interpreto",
    )
    found.add_argument(
        "--growth", type=numbers, default=(), help="numbers of texts for linear growth: 1,10,100"
    )
    return found


def numbers(text: str) -> tuple[int, ...]:
    """Integers with commas between them."""
    return tuple(int(part) for part in text.split(",") if part)


def read_texts(path: Path, count: int | None = None) -> list[tuple[str, str]]:
    """(text, other) of the first `count` rows, other empty for single texts. ValueError where the
    column is missing.
    """
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    if not rows or "text" not in rows[0]:
        raise ValueError(
            f"{path.name} needs a header with the column `text` (and `other` for pairs), and a row"
        )
    if count is not None and len(rows) < count:
        raise ValueError(f"{path.name} has {len(rows)} texts; {count} are asked for")
    return [(row["text"], row.get("other") or "") for row in rows[:count]]


def joined(text: str, other: str) -> str:
    """A pair as one text, for libraries that read no pairs."""
    return f"{text} {other}" if other else text


class Stopwatch:
    """Takes measurements and prints each as a JSON line.

    counted: what the network reads, kept up to date by whoever measures (`watch`, or a ledger).
    """

    def __init__(self, who: str, asked: argparse.Namespace, counted: Counted):
        self.who = who
        self.asked = asked
        self.counted = counted

    def wants(self, what: str) -> bool:
        """Whether this is to be measured."""
        return re.fullmatch(self.asked.what, what) is not None

    def take(self, what: str, setting: str, texts: Sequence, run: Callable[[object], None]) -> None:
        """Measure `run(text)` over all texts, after one on a short text whose time does
        not count.
        """
        if self.wants(what):
            run(WARM_UP)
            self.take_once(what, setting, len(texts), lambda: [run(text) for text in texts])

    def take_once(self, what: str, setting: str, texts: int, run: Callable[[], object]) -> object:
        """Measure one call, which reads so many texts; give what it returns."""
        gpu = self.asked.device != "cpu"
        before = Counted(**asdict(self.counted))
        _forget_peak(gpu)
        start = _now(gpu)
        out = run()
        seconds = _now(gpu) - start
        spent = {
            name: getattr(self.counted, name) - getattr(before, name) for name in asdict(before)
        }
        line = Line(
            self.who,
            what,
            setting,
            self.asked.repeat,
            texts,
            seconds,
            peak_mb=_peak(gpu),
            clock="wall" if gpu else "processor",
            **spent,
        )
        print(json.dumps(asdict(line)), flush=True)
        return out


def watch(network, counted: Counted | None = None) -> Counted:
    """Count every row and token that a network reads from now on, by a forward hook."""
    counted = counted or Counted()

    def count(module, args, kwargs, output):
        vectors = kwargs.get("inputs_embeds")
        mask = kwargs.get("attention_mask")
        ids = kwargs.get("input_ids", args[0] if args else None)
        read = ids if vectors is None else vectors
        tokens = (
            int(mask.sum())
            if mask is not None and len(mask) == len(read)
            else read.shape[0] * read.shape[1]
        )
        counted.rows += len(read)
        counted.tokens += tokens
        counted.gradient_tokens += tokens if vectors is not None and vectors.requires_grad else 0

    network.register_forward_hook(count, with_kwargs=True)
    return counted


def open_classifier(asked: argparse.Namespace):
    """The network, in float32 and evaluation mode, and its tokenizer, as transformers
    opens them.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    torch.set_num_threads(asked.threads)
    logging.set_verbosity_error()
    network = AutoModelForSequenceClassification.from_pretrained(asked.model, use_safetensors=True)
    tokenizer = AutoTokenizer.from_pretrained(asked.model)
    return network.float().eval().to(asked.device), tokenizer


def _now(gpu: bool) -> float:
    """Seconds: of the wall when the GPU is done, else of the processor in this process."""
    if not gpu:
        return time.process_time()
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()


def _forget_peak(gpu: bool) -> None:
    """Begin anew to look for the most memory held; where the system does not allow it, since the
    process began.
    """
    if gpu:
        import torch

        torch.cuda.reset_peak_memory_stats()
        return
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak(gpu: bool) -> float:
    """The most memory held since, in MB."""
    if gpu:
        import torch

        return torch.cuda.max_memory_allocated() / 1e6
    try:
        status = Path("/proc/self/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024 / 1e6
    except (OSError, AttributeError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
