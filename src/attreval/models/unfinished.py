"""Checkpoints of a training under way, from which one that is interrupted goes on where it was."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from attreval.core.records import Tokens
from attreval.core.tables import note_seconds, write_whole
from attreval.models.scorer import pad_rows

KEEP_EVERY = 120.0  # seconds; writing the weights and what the optimizer remembers takes one or two


def _clocks() -> tuple[float, float]:
    """Seconds of the clock and of this process on the processor."""
    return time.monotonic(), time.process_time()


@dataclass
class SoFar:
    """How far a training has come.

    Attributes:
        step: Batches learned from.
        seconds, processor: That it has taken, of the clock and of the processor.
        losses: Of the batches since the last check.
        curve: A row per check.
        stale: Checks since the best.
        best: The lowest score on dev; best_loss: the loss then.
        weights: Those of the best check, on the CPU; None before one is worth keeping.
        at: Both clocks when seconds were counted.
    """

    step: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    losses: list[float] = field(default_factory=list)
    curve: list[dict] = field(default_factory=list)
    stale: int = 0
    best: float = math.inf
    best_loss: float = math.inf
    weights: dict[str, torch.Tensor] | None = None
    at: tuple[float, float] = field(default_factory=_clocks)

    def check(self, dev: Any, watch: str, epoch: float, network: nn.Module) -> bool:
        """Note a check on dev, and keep the weights where it is the best.

        Args:
            dev: A training.Performance.
            watch: `loss`, or a field of it.
            epoch: For the curve.
            network: Whose weights are kept.

        Returns:
            Whether it is the best.
        """
        found = {
            "train_loss": float(np.mean(self.losses)),
            "dev_loss": dev.loss,
            "dev_accuracy": dev.accuracy,
        }
        self.curve.append({"step": self.step, "epoch": epoch} | found)
        self.losses = []
        score = 1 - getattr(dev, watch) if watch != "loss" and math.isfinite(dev.loss) else dev.loss
        if not score < self.best:
            self.stale += 1
            return False
        self.stale = 0
        self.best = score
        self.best_loss = dev.loss
        state = network.state_dict()
        self.weights = {name: value.detach().cpu().clone() for name, value in state.items()}
        return True

    def count(self) -> None:
        """Add the seconds since the last count."""
        seconds, processor = self.at
        self.at = _clocks()
        self.seconds += self.at[0] - seconds
        self.processor += self.at[1] - processor


@dataclass
class Changing:
    """All that a step of training changes beside its SoFar, random numbers included."""

    network: nn.Module
    averaged: AveragedModel
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler | None
    masks: np.random.Generator | None
    kept_at: float = field(default_factory=time.monotonic)

    def take_step(
        self,
        model: Any,
        texts: Sequence[Tokens],
        labels: Sequence[int],
        clip: float | None,
        precision: str,
    ) -> float:
        """Learn from a batch.

        Args:
            model: The network's classifier.
            texts, labels: The batch.
            clip: The largest norm of the gradient.
            precision: `float32` or `bfloat16`.

        Returns:
            The loss before that.
        """
        device = model.device
        rows = pad_rows([(tokens.ids, tokens.segments) for tokens in texts], texts[0].pad_id)
        gold = torch.tensor(labels, device=device)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            logits = model.logits(*(part.to(device) for part in rows))
            loss = nn.functional.cross_entropy(logits.float(), gold)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), clip)
        self.optimizer.step()
        if self.schedule:
            self.schedule.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.averaged.update_parameters(self.network)
        return loss.item()

    def keep(self, path: Path | None, so_far: SoFar) -> None:
        """Write everything to a file, if one is given and KEEP_EVERY seconds have passed."""
        if path is None or time.monotonic() - self.kept_at < KEEP_EVERY:
            return
        so_far.count()
        state = {
            "so_far": vars(so_far),
            "parts": {name: part.state_dict() for name, part in self._parts().items()},
            "random": torch.get_rng_state(),
            "devices": torch.cuda.get_rng_state_all(),
            "masks": self.masks and self.masks.bit_generator.state,
        }
        note_seconds(path, so_far.processor)
        with write_whole(path) as part:
            torch.save(state, part)
        self.kept_at = time.monotonic()

    def take_up(self, path: Path | None) -> SoFar:
        """Go back to where a file left off, and say how far that was; else to the beginning."""
        if path is None or not path.exists():
            return SoFar()
        state = torch.load(path, map_location="cpu", weights_only=False)
        for name, part in self._parts().items():
            part.load_state_dict(state["parts"][name])
        torch.set_rng_state(state["random"])
        torch.cuda.set_rng_state_all(state["devices"])
        if self.masks is not None:
            self.masks.bit_generator.state = state["masks"]
        return SoFar(**state["so_far"] | {"at": _clocks()})

    def _parts(self) -> dict:
        """What has a state of its own, by name."""
        parts = {
            name: getattr(self, name) for name in ("network", "averaged", "optimizer", "schedule")
        }
        return {name: part for name, part in parts.items() if part is not None}
