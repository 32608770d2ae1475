"""The texts of an evaluation: rows of the data in a random order, and documents made of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from attreval.core.records import Evidence, Instance, Tokens
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.methods.attribution_files import AnotherClass, as_methods, read_attribution_file
from attreval.methods.method import Method
from attreval.methods.run import predict
from attreval.models.classifier import Classifier
from attreval.models.scorer import Scorer
from attreval.texts.data import Columns, read_own_data
from attreval.texts.given import make_instances
from attreval.texts.rows import Counts, Row
from attreval.texts.words import mix_sentences, split_sentences

# of a hybrid document; the paper has ten; what is asked of a text grows with the square of its
# length
SENTENCES = 5
Document = list[tuple[str, int]]  # its sentences, each with the label of the text it is from


def read_rows(
    data: str | Path | Mapping[str, Sequence] | pd.DataFrame,
    columns: Columns,
    labels: Sequence[str],
    seed: int = 0,
) -> tuple[list[Row], dict[str, int]]:
    """The rows that can be explained, in a random order, and how many cannot, by reason.

    Of rows with the same text the first in that order is kept: asking about a text twice tells
    nothing new.
    """
    counts = Counts()
    place = Path(data).expanduser().resolve() if isinstance(data, (str, Path)) else data
    rows = [row for row in read_own_data(place, columns, labels, counts) if row.split == "test"]
    kept: dict[tuple[str, ...], Row] = {}
    for at in generator("evaluate", "texts", *_named(seed)).permutation(len(rows)):
        row = rows[at]
        first = kept.setdefault(row.segments, row)
        if first is not row:
            other = "" if first.label == row.label else " under another label"
            counts.dropped[f"the same text again{other}"] += 1
    return list(kept.values()), dict(counts.dropped)


def read_given(files: Sequence[str | Path], labels: Sequence[str]) -> dict[str, Method]:
    """By name, the methods that answer from files of attributions made elsewhere."""
    rows = [row for path in files for row in read_attribution_file(Path(path).expanduser())]
    return as_methods(rows, labels, METHODS)


def with_scores(
    rows: list[Row], given: Mapping[str, Method], model: Classifier
) -> tuple[list[Row], Counter[str]]:
    """The rows whose prediction every given method explains, and how many are left out, by reason.

    Raises:
        ValueError: no row is left.
    """
    if not given:
        return rows, Counter()
    instances = [instance_of_row(row, model) for row in rows]
    tokens = [model.tokens(instance) for instance in instances]
    predicted = predict(Scorer(model), tokens).argmax(axis=1)
    kept = []
    left_out: Counter[str] = Counter()
    for row, instance, read, k in zip(rows, instances, tokens, predicted, strict=True):
        if why := _why_not_scored(given, instance, read, int(k)):
            left_out[why] += 1
        else:
            kept.append(row)
    if not kept:
        raise ValueError(
            f"no text is explained by {', '.join(given)}: attributions are found by their text, "
            "which is the same to the letter, and are of the class that the model predicts"
        )
    return kept, left_out


def _why_not_scored(
    given: Mapping[str, Method], instance: Instance, tokens: Tokens, target: int
) -> str:
    """Which given method does not explain a class of a text, and why; empty where all do."""
    for name, method in given.items():
        try:
            if method.given:
                method.given(instance, tokens, target)
        except AnotherClass:
            return f"{name} explains another class"
        except ValueError:
            return f"{name} has no scores"
    return ""


def instance_of_row(row: Row, model: Classifier) -> Instance:
    """A row as it is explained, with what people marked in it."""
    (made,) = make_instances([row.segments], model)
    evidence = row.evidence(row.segments, made.words) if row.evidence else Evidence()
    return Instance(made.id, made.segments, row.label, made.words, evidence=evidence)


def make_documents(rows: Sequence[Row], seed: int = 0) -> list[Document]:
    """Hybrid documents of the rows' sentences; none where all rows have one class."""
    if len({row.label for row in rows}) < 2:
        return []
    pool = [(sentence, row.label) for row in rows for sentence in split_sentences(row.segments[0])]
    return list(mix_sentences(pool, SENTENCES, "evaluate", "documents", *_named(seed)))


def _named(seed: int) -> tuple[int, ...]:
    """What a seed adds to the names that random numbers derive from."""
    return (seed,) if seed else ()
