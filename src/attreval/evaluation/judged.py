"""Texts explained and judged one batch at a time, and kept on disk.

Nothing is asked twice: what is kept of a text is named by what the model reads, by the model's
weights and by the settings; another model, other methods or another budget keep their own.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attreval import __version__
from attreval.api.evaluating import evaluate
from attreval.api.exchange import scores_of_methods
from attreval.api.explaining import explain
from attreval.api.explanation import Explanation
from attreval.core.records import Attribution, Cost, Instance, Tokens
from attreval.core.tables import write_text
from attreval.methods.method import Budget, Method
from attreval.models.classifier import Classifier
from attreval.models.outputs import outputs_of
from attreval.texts.given import as_text

TOGETHER = 8  # texts that are explained and judged before they are kept
PAUSE = 3.0  # seconds between two lines of progress


@dataclass(frozen=True)
class Judged:
    """One text as methods explain it.

    values: metric -> method -> value, NaN where the text has none. seconds: what explaining and
        judging it took.
    """

    explanation: Explanation
    values: dict[str, dict[str, float]]
    seconds: float = np.nan


@dataclass(frozen=True)
class Judge:
    """Explains texts and asks the metrics about them.

    methods: to explain by. given: methods whose scores were made elsewhere. say: is told in words
    how far it is. folder: where answers are kept for other calls, None for nowhere. known: the
    answers of this call, by the names of their files.
    """

    model: Classifier
    methods: Sequence[str]
    budget: Budget
    given: Mapping[str, Method]
    say: Callable[[str], None]
    folder: Path | None = None
    known: dict[str, Judged] = field(default_factory=dict)

    def judge(
        self, instances: Sequence[Instance], what: str, metrics: Sequence[str] | None = None
    ) -> list[Judged]:
        """Explain and judge texts, except those that are known from earlier calls.

        Args:
            instances: with the marks that metrics compare with, where there are any.
            what: the texts in words, for the lines of progress.
            metrics: names; None asks all that can be asked.

        Raises:
            ValueError: a method does not explain one of the texts, or any reason of `explain`.
        """
        names = self.find_names(instances, metrics)
        missing = [at for at, name in enumerate(names) if name not in self.known]
        told = time.monotonic()
        for start in range(0, len(missing), TOGETHER):
            part = missing[start : start + TOGETHER]
            answers = self._ask([instances[at] for at in part], metrics)
            for at, answer in zip(part, answers, strict=True):
                self._keep(names[at], answer)
            if time.monotonic() - told >= PAUSE:
                told = time.monotonic()
                done = len(names) - len(missing) + start + len(part)
                self.say(f"{done} of {len(names)} {what} explained and judged")
        return [self.known[name] for name in names]

    def find_names(
        self, instances: Sequence[Instance], metrics: Sequence[str] | None = None
    ) -> list[str]:
        """The names of the texts' answers; those that are kept on disk become known."""
        names = []
        for instance in instances:
            tokens = self.model.tokens(instance)
            marks = _marks_of(instance)
            marked = None if marks is None else marks.tolist()
            said = [metrics, instance.segments, instance.label, tokens.ids.tolist(), marked]
            name = f"{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:24]}.json"
            place = self.folder / name if self.folder else None
            if name not in self.known and place and place.exists():
                kept = json.loads(place.read_text(encoding="utf-8"))
                self.known[name] = _thaw(kept, instance, tokens)
            names.append(name)
        return names

    def _ask(self, instances: list[Instance], metrics: Sequence[str] | None) -> list[Judged]:
        started = time.monotonic()
        texts = [as_text(one.segments) for one in instances]
        found = explain(self.model, texts, list(self.methods), budget=self.budget)
        for name, scores in scores_of_methods(self.given, found, self.model.labels).items():
            found.add_token_scores(name, scores)
        marks = [_marks_of(one) for one in instances]
        given = marks if any(mark is not None for mark in marks) else None
        table = evaluate(self.model, found, metrics, given, each_text=True)
        values: list[dict] = [{} for _ in instances]
        for row in table.itertuples():
            values[row.text].setdefault(row.metric, {})[row.method] = float(row.value)
        seconds = (time.monotonic() - started) / len(instances)
        return [
            Judged(replace(one, instance=instance), of_text, seconds)
            for one, instance, of_text in zip(found, instances, values, strict=True)
        ]

    def _keep(self, name: str, answer: Judged) -> None:
        self.known[name] = answer
        if self.folder is not None:
            write_text(self.folder / name, json.dumps(_freeze(answer)))


def answers_folder(folder: Path, model: Classifier, settings: Sequence[Any]) -> Path | None:
    """Where answers of a model under some settings are kept; None where it has no weights."""
    if not hasattr(model, "network"):
        return None
    found = hashlib.sha256()
    for name, weights in model.network.state_dict().items():
        found.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        found.update(weights.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    asked = [str(getattr(model, name, None)) for name in ("prompt", "score", "erasing")]
    said = [__version__, list(model.labels), outputs_of(model), *asked, *settings]
    found.update(json.dumps(said, default=str).encode())
    return folder / found.hexdigest()[:16]


def _marks_of(instance: Instance) -> np.ndarray | None:
    """(A, W) marks of A people on the W words of a text; None where nobody marked it."""
    marks = instance.evidence.marks
    return marks if len(marks) else None


def _freeze(one: Judged) -> dict:
    """A judged text for JSON, without its words and tokens, which its text gives again."""
    shown = one.explanation
    said = ("predicted", "probabilities", "target", "against", "unit", "outputs")
    kept = {name: getattr(shown, name) for name in said}
    attributions = [
        asdict(made) | {"scores": made.scores.tolist()} for made in shown.attributions.values()
    ]
    return kept | {
        "attributions": attributions,
        "given": sorted(shown.given),
        "values": one.values,
        "seconds": one.seconds,
    }


def _thaw(kept: dict, instance: Instance, tokens: Tokens) -> Judged:
    attributions = {}
    for row in kept.pop("attributions"):
        row |= {"features": tuple(map(tuple, row["features"])), "cost": Cost(**row["cost"])}
        attributions[row["method"]] = Attribution(**row)
    values = kept.pop("values")
    seconds = kept.pop("seconds")
    given = frozenset(kept.pop("given"))
    explanation = Explanation(instance, tokens, attributions=attributions, given=given, **kept)
    return Judged(explanation, values, seconds)
