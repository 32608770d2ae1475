"""The texts that are asked about: rows in random order, those that were explained elsewhere, documents made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attreval.api.texts import make_instances
from attreval.core.records import Evidence, Instance
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.methods.attribution_files import AnotherClass, as_methods, read_attribution_file
from attreval.methods.method import Method
from attreval.methods.run import predict
from attreval.models.classifier import Classifier
from attreval.models.scorer import Scorer
from attreval.texts.data import Columns, read_own_data
from attreval.texts.hybrid import mix_sentences, split_sentences
from attreval.texts.rows import Counts, Row

if TYPE_CHECKING:
    import pandas as pd

SENTENCES = 5  # of a hybrid document; the paper has ten; what is asked of a text grows with the square of its length


def read_rows(
    data: str | Path | Mapping[str, Sequence] | pd.DataFrame, columns: Columns, labels: Sequence[str], seed: int = 0
) -> tuple[list[Row], dict[str, int]]:
    """The rows that can be explained in a random order, and why others cannot be -> how many."""
    counts = Counts()
    place = Path(data).expanduser().resolve() if isinstance(data, (str, Path)) else data
    rows = [row for row in read_own_data(place, columns, labels, counts) if row.split == "test"]
    order = generator("evaluate", "texts", *_named(seed)).permutation(len(rows))
    return [rows[at] for at in order], dict(counts.dropped)


def read_given(files: Sequence[str | Path], labels: Sequence[str]) -> dict[str, Method]:
    """Name -> the method that answers from files of attributions that were made elsewhere."""
    rows = [row for path in files for row in read_attribution_file(Path(path).expanduser())]
    return as_methods(rows, labels, METHODS)


def with_scores(rows: list[Row], given: Mapping[str, Method], model: Classifier) -> tuple[list[Row], Counter]:
    """The rows of which each given method explains the prediction, and why others are left out -> how many."""
    if not given:
        return rows, Counter()
    instances = [make_instance(row) for row in rows]
    tokens = [model.tokens(instance) for instance in instances]
    answers = {name: method.given for name, method in given.items() if method.given}
    kept: list[Row] = []
    left_out: Counter[str] = Counter()
    for row, one, read, k in zip(rows, instances, tokens, predict(Scorer(model), tokens).argmax(axis=1), strict=True):
        why = ""
        for name, answer in answers.items():
            try:
                answer(one, read, int(k))
            except AnotherClass:
                why = why or f"{name} explains another class"
            except ValueError:
                why = why or f"{name} has no scores"
        kept += [] if why else [row]
        left_out[why] += bool(why)
    if not kept:
        raise ValueError(
            f"no text is explained by {', '.join(given)}: attributions are found by their text, which is the same to "
            "the letter, and are of the class that the model predicts"
        )
    return kept, +left_out


def make_instance(row: Row) -> Instance:
    """A row as it is explained, with what people marked in it."""
    (made,) = make_instances([row.segments])
    evidence = row.evidence(row.segments, made.words) if row.evidence else Evidence()
    return Instance(made.id, made.segments, row.label, made.words, evidence=evidence)


def make_documents(rows: Sequence[Row], seed: int = 0) -> list[tuple[str, list[tuple[str, int]]]]:
    """(text, its sentences with the labels of their texts) of hybrid documents; none where all texts have one class."""
    if len({row.label for row in rows}) < 2:
        return []
    pool = [(sentence, row.label) for row in rows for sentence in split_sentences(row.segments[0])]
    mixed = mix_sentences(pool, SENTENCES, "evaluate", "documents", *_named(seed))
    return [(" ".join(sentence for sentence, _ in chosen), chosen) for chosen in mixed]


def _named(seed: int) -> tuple[int, ...]:
    """What a seed adds to the names that random numbers derive from."""
    return (seed,) if seed else ()
