"""Texts drawn from data or made of them, explained and judged one batch at a time, and kept on
disk.

The same question is never asked twice: what is kept of a text is named by what the model reads, by
the model's weights and by the settings; another model, other methods or another budget keep their
own.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from attreval import __version__
from attreval.api.evaluating import evaluate
from attreval.api.exchange import scores_of_methods
from attreval.api.explaining import explain
from attreval.api.explanation import Explanation
from attreval.core.records import Attribution, Cost, Evidence, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.tables import write_whole
from attreval.methods import METHODS
from attreval.methods.attribution_files import AnotherClass, as_methods, read_attribution_file
from attreval.methods.method import Budget, Method
from attreval.methods.run import predict
from attreval.models.classifier import Classifier
from attreval.models.scorer import Scorer
from attreval.texts.data import Columns, read_own_data
from attreval.texts.given import as_text, make_instances
from attreval.texts.rows import Counts, Row
from attreval.texts.words import mix_sentences, split_sentences

# of a hybrid document; the paper has ten; what is asked of a text grows with the square of its
# length
SENTENCES = 5
TOGETHER = 8  # texts that are explained and judged before they are kept


def read_rows(
    data: str | Path | Mapping[str, Sequence] | pd.DataFrame,
    columns: Columns,
    labels: Sequence[str],
    seed: int = 0,
) -> tuple[list[Row], dict[str, int]]:
    """The rows that can be explained in a random order, and why others cannot be -> how many.

    Of rows with the same text the first in that order is kept: a text that is asked about twice
    says nothing new.
    """
    counts = Counts()
    place = Path(data).expanduser().resolve() if isinstance(data, (str, Path)) else data
    rows = [row for row in read_own_data(place, columns, labels, counts) if row.split == "test"]
    order = generator("evaluate", "texts", *_named(seed)).permutation(len(rows))
    kept: dict[tuple[str, ...], Row] = {}
    for at in order:
        row = rows[at]
        first = kept.setdefault(row.segments, row)
        if first is not row:
            other = "" if first.label == row.label else " under another label"
            counts.dropped[f"the same text again{other}"] += 1
    return list(kept.values()), dict(counts.dropped)


def read_given(files: Sequence[str | Path], labels: Sequence[str]) -> dict[str, Method]:
    """Name -> the method that answers from files of attributions that were made elsewhere."""
    rows = [row for path in files for row in read_attribution_file(Path(path).expanduser())]
    return as_methods(rows, labels, METHODS)


def with_scores(
    rows: list[Row], given: Mapping[str, Method], model: Classifier
) -> tuple[list[Row], Counter]:
    """The rows of which each given method explains the prediction, and why others are left out ->
    how many.
    """
    if not given:
        return rows, Counter()
    instances = [make_instance(row) for row in rows]
    tokens = [model.tokens(instance) for instance in instances]
    predicted = predict(Scorer(model), tokens).argmax(axis=1)
    answers = {name: method.given for name, method in given.items() if method.given}
    kept: list[Row] = []
    left_out: Counter[str] = Counter()
    for row, one, read, k in zip(rows, instances, tokens, predicted, strict=True):
        why = ""
        for name, answer in answers.items():
            try:
                answer(one, read, int(k))
            except AnotherClass:
                why = why or f"{name} explains another class"
            except ValueError:
                why = why or f"{name} has no scores"
        if why:
            left_out[why] += 1
        else:
            kept.append(row)
    if not kept:
        raise ValueError(
            f"no text is explained by {', '.join(given)}: attributions are found by their text, "
            "which is the same to "
            "the letter, and are of the class that the model predicts"
        )
    return kept, left_out


def make_instance(row: Row) -> Instance:
    """A row as it is explained, with what people marked in it."""
    (made,) = make_instances([row.segments])
    evidence = row.evidence(row.segments, made.words) if row.evidence else Evidence()
    return Instance(made.id, made.segments, row.label, made.words, evidence=evidence)


def make_documents(rows: Sequence[Row], seed: int = 0) -> list[tuple[str, list[tuple[str, int]]]]:
    """(text, its sentences with the labels of their texts) of hybrid documents; none where all
    texts have one class.
    """
    if len({row.label for row in rows}) < 2:
        return []
    pool = [(sentence, row.label) for row in rows for sentence in split_sentences(row.segments[0])]
    mixed = mix_sentences(pool, SENTENCES, "evaluate", "documents", *_named(seed))
    return [(" ".join(sentence for sentence, _ in chosen), chosen) for chosen in mixed]


def _named(seed: int) -> tuple[int, ...]:
    """What a seed adds to the names that random numbers derive from."""
    return (seed,) if seed else ()


@dataclass(frozen=True)
class Judged:
    """One text as methods explain it.

    values: metric -> method -> value, NaN where the text has none. seconds: what explaining and
        judging it took.
    """

    explanation: Explanation
    values: dict[str, dict[str, float]]
    seconds: float = float("nan")


@dataclass(frozen=True)
class Question:
    """What is asked of each text.

    methods: to explain it by. given: methods whose scores were made elsewhere. metrics: names, None
    for all that can be asked. folder: where answers are kept for other calls, None for nowhere.
    known: answers of this call by their names.
    """

    model: Classifier
    methods: tuple[str, ...]
    budget: Budget
    given: Mapping[str, Method] = field(default_factory=dict)
    metrics: tuple[str, ...] | None = None
    folder: Path | None = None
    known: dict[str, Judged] = field(default_factory=dict)


def keep_in(folder: Path | None, model: Classifier, settings: Sequence[Any]) -> Path | None:
    """The folder for answers of a model under some settings; None where the model's weights cannot
    be told apart.
    """
    if folder is None or not hasattr(model, "network"):
        return None
    found = hashlib.sha256()
    for name, weights in model.network.state_dict().items():
        found.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        found.update(weights.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    said = [__version__, list(model.labels), str(getattr(model, "prompt", None)), *settings]
    found.update(json.dumps(said, default=str).encode())
    return folder / found.hexdigest()[:16]


def find_missing(question: Question, instances: Sequence[Instance]) -> tuple[list[str], list[int]]:
    """Each text's cache key, and the positions not cached; loads cached answers."""
    names: list[str] = []
    missing: list[int] = []
    for at, instance in enumerate(instances):
        tokens = question.model.tokens(instance)
        name = _name(question.metrics, instance, tokens)
        place = question.folder / name if question.folder else None
        if name not in question.known and place and place.exists():
            kept = json.loads(place.read_text(encoding="utf-8"))
            question.known[name] = _thaw(kept, instance, tokens)
        names.append(name)
        if name not in question.known:
            missing.append(at)
    return names, missing


def judge(
    question: Question, instances: Sequence[Instance], notify: Callable[[int, int], None]
) -> list[Judged]:
    """Explain texts and ask the metrics about them, but for texts that are known from earlier
    calls.

    instances: with the marks that pointing and agreement with people are held to, where there are
    any. notify: called with (texts done, of), at the beginning and after each batch. Raises
    ValueError where a method does not explain one of the texts, and for any other reason that
    `explain` gives.
    """
    names, missing = find_missing(question, instances)
    done = len(names) - len(missing)
    notify(done, len(names))
    for start in range(0, len(missing), TOGETHER):
        part = missing[start : start + TOGETHER]
        answers = _ask(question, [instances[at] for at in part])
        for at, one in zip(part, answers, strict=True):
            question.known[names[at]] = one
            if question.folder is not None:
                with write_whole(question.folder / names[at]) as file:
                    file.write_text(json.dumps(_freeze(one)), encoding="utf-8")
        done += len(part)
        notify(done, len(names))
    return [question.known[name] for name in names]


def _ask(question: Question, instances: list[Instance]) -> list[Judged]:
    started = time.monotonic()
    texts = [as_text(one.segments) for one in instances]
    found = explain(question.model, texts, list(question.methods), budget=question.budget)
    for name, scores in scores_of_methods(question.given, found, question.model.labels).items():
        found.add_token_scores(name, scores)
    marks = [_marks_of(one) for one in instances]
    given = marks if any(mark is not None for mark in marks) else None
    table = evaluate(question.model, found, question.metrics, given, each_text=True)
    values: list[dict] = [{} for _ in instances]
    for at, method, metric, value in table.itertuples(index=False):
        values[at].setdefault(metric, {})[method] = float(value)
    seconds = (time.monotonic() - started) / len(instances)
    judged = []
    for one, instance, of_text in zip(found, instances, values, strict=True):
        judged.append(Judged(replace(one, instance=instance), of_text, seconds))
    return judged


def _marks_of(instance: Instance) -> np.ndarray | None:
    """(A, W) marks of A people on the W words of a text; None where nobody marked it."""
    marks = instance.evidence.marks
    return marks if len(marks) else None


def _name(metrics: Sequence[str] | None, instance: Instance, tokens: Tokens) -> str:
    """The name of the file that an answer about a text is kept in."""
    marks = _marks_of(instance)
    marked = None if marks is None else marks.tolist()
    said = [metrics, instance.segments, instance.label, tokens.ids.tolist(), marked]
    return f"{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:24]}.json"


def _freeze(one: Judged) -> dict:
    """What JSON holds of a judged text: all but the words and tokens, which its text gives
    again.
    """
    shown = one.explanation
    kept = {
        name: getattr(shown, name)
        for name in ("predicted", "probabilities", "target", "against", "unit")
    }
    return kept | {
        "attributions": [
            asdict(a) | {"scores": a.scores.tolist()} for a in shown.attributions.values()
        ],
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
