"""Attributions made elsewhere (by captum, shap, a language model, people), as files and as methods.

A file is jsonl (one object a line) or Parquet (one row), for each text and method: `text` (a
string, or two for a pair), `method`, `scores`, and what they belong to: `spans`, characters as
[start, end] or [segment, start, end], or `tokens`, which leave no word out between them; besides
`id` and `target` (a class, by name or index) where they are known. What ERASER calls
`soft_rationale_predictions` (DeYoung et al. 2020) are such scores, of words.
Letters used for shapes: L model tokens, n scored spans.
"""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import regex

from attreval.core.alignment import divide, overlaps
from attreval.core.records import Instance, Tokens, as_places
from attreval.methods.method import Budget, Method, Rng, Scores
from attreval.models.questions import Conversation
from attreval.texts.data import index_of
from attreval.texts.decoding import lines_of_json, read_text
from attreval.texts.files import open_parquet
from attreval.texts.marks import read_spans

FIELDS = ("id", "text", "method", "target", "spans", "tokens", "scores")
MARKS = ("##", "Ġ", "▁", "Ċ", "</w>")  # what tokenizers add to pieces of words


class AnotherClass(ValueError):
    """A text has scores made elsewhere, but for another class than the one asked for."""


@dataclass(frozen=True)
class GivenScores:
    """Scores of one text.

    Attributes:
        segments: The text, or both of a pair.
        method: The name that the file gives.
        spans: (n, 3) segment, start, end in characters.
        scores: (n,).
        id: Of the text; empty where unknown.
        target: The explained class, by name or number; None where unknown.
    """

    segments: tuple[str, ...]
    method: str
    spans: np.ndarray
    scores: np.ndarray
    id: str = ""
    target: str | int | None = None


def read_attribution_file(path: Path | str) -> list[GivenScores]:
    """The rows of a .jsonl or .parquet file.

    Raises:
        ValueError: A row is wrong; names the row and what is wrong with it.
        FileNotFoundError: There is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}; attributions are given as .jsonl or .parquet")
    found = [
        _read_row(row, f"{path.name}, row {number}") for number, row in enumerate(_rows(path), 1)
    ]
    if not found:
        raise ValueError(f"{path.name} holds no attribution; each row has {', '.join(FIELDS)}")
    return found


def write_attribution_file(path: Path | str, rows: Iterable[GivenScores]) -> None:
    """Write attributions as .jsonl or .parquet, by the file's ending.

    Raises:
        ValueError: The file has another ending.
    """
    # slow to import, and the list of methods is read by every command
    from attreval.core.tables import write_whole

    path = Path(path)
    if path.suffix.lower() not in (".jsonl", ".parquet"):
        raise ValueError(f"attributions are written as .jsonl or .parquet; got {path.name}")
    parquet = path.suffix.lower() == ".parquet"
    objects = [
        {
            "id": row.id,
            "text": list(row.segments),
            "method": row.method,
            "target": str(row.target) if parquet and row.target is not None else row.target,
            "spans": np.asarray(row.spans).tolist(),
            "scores": np.asarray(row.scores, float).tolist(),
        }
        for row in rows
    ]
    with write_whole(path) as part:
        if parquet:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist(objects), part)
        else:
            lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in objects]
            part.write_text("".join(lines), encoding="utf-8")


def _rows(path: Path) -> Iterator[dict]:
    """The objects of a file; nothing is unpickled."""
    if path.suffix == ".parquet":
        yield from open_parquet(path).read().to_pylist()
    elif path.suffix in (".jsonl", ".json", ".ndjson"):
        yield from lines_of_json(read_text(path), path.name)
    else:
        raise ValueError(f"attributions are read from .jsonl or .parquet; got {path.name}")


def _read_row(row: dict, where: str) -> GivenScores:
    """One row, checked."""
    scores = read_scores(row, ("text", "method", "scores"), where)
    text = row["text"]
    segments = tuple(text) if isinstance(text, list | tuple) else (text,)
    if not 1 <= len(segments) <= 2 or not all(isinstance(part, str) for part in segments):
        raise ValueError(f"{where}: `text` is a string, or two for a pair; got {text!r:.80}")
    if row.get("spans") is not None:
        spans = read_spans(row["spans"], segments, where)
    elif row.get("tokens") is not None:
        spans = find_tokens(row["tokens"], segments, where)
    else:
        raise ValueError(
            f"{where}: `spans` or `tokens` say what the scores belong to; it has: {', '.join(row)}"
        )
    if len(spans) != len(scores):
        raise ValueError(f"{where}: {len(scores)} scores for {len(spans)} spans or tokens")
    own = "" if row.get("id") is None else str(row["id"])
    return GivenScores(segments, str(row["method"]), spans, scores, own, row.get("target"))


def read_scores(row: dict, needed: Sequence[str], where: str) -> np.ndarray:
    """(n,) finite scores of a row that has what is needed. where: begins the message of an error.

    Raises:
        ValueError: Something is missing, or scores are no finite numbers.
    """
    if missing := [name for name in needed if row.get(name) is None]:
        raise ValueError(f"{where}: no {' and no '.join(missing)}; it has: {', '.join(row)}")
    try:
        scores = np.array(row["scores"], dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where}: `scores` is a list of numbers; got {row['scores']!r:.80}"
        ) from None
    finite = np.isfinite(scores)
    if not finite.all():
        raise ValueError(f"{where}: score {finite.argmin()} is no finite number")
    return scores


def find_tokens(
    tokens: Sequence[str], segments: tuple[str, ...], where: str = "tokens"
) -> np.ndarray:
    """Where each token stands in a text.

    One token follows the other from the first word on; what is behind the last is unread. Marks of
    word pieces (`##`, `Ġ`, `▁`), case and accents do not count.

    Args:
        tokens: The tokens, in order.
        segments: The text, or both of a pair.
        where: Begins the message of an error.

    Returns:
        (n, 3) segment, start, end.

    Raises:
        ValueError: Words are left out between tokens, or a part of one behind them: of several
            equal words nobody could say which is meant.
    """
    plain = []
    places = []  # by segment, of each letter of its plain text where that stands
    for text in segments:
        letters = [_plain(char) for char in text]
        plain.append("".join(letters))
        places.append(np.repeat(np.arange(len(text)), list(map(len, letters))))
    out: list[tuple[int, int, int]] = []
    segment = at = 0
    for token in tokens:
        bare = str(token).strip()
        for mark in MARKS:
            bare = bare.removeprefix(mark).removesuffix(mark) if len(bare) > len(mark) else bare
        bare = _plain(bare)
        pattern = regex.compile(rf"\W*?({regex.escape(bare)})")
        found = pattern.match(plain[segment], at)
        if not found and segment + 1 < len(plain) and not _inside(plain[segment], at):
            found = pattern.match(plain[segment + 1])
            segment += bool(found)
        if not bare or not found:
            raise ValueError(
                f"{where}: the token {token!r} does not come next, after {len(out)} others of "
                f"{segments[segment]!r:.60}; leave special tokens out but no words, or give `spans`"
            )
        start, at = found.span(1)
        first, last = places[segment][[start, at - 1]]
        out.append((segment, first, last + 1))
    if _inside(plain[segment], at):
        raise ValueError(
            f"{where}: {tokens[-1]!r} ends inside a word of {segments[segment]!r:.60}; give `spans`"
        )
    return as_places(out)


def _plain(text: str) -> str:
    """Text without case and accents, which uncased tokenizers strip."""
    whole = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in whole if not unicodedata.combining(c))


def _inside(text: str, at: int) -> bool:
    """Whether a place is inside a word."""
    return regex.match(r"\w\w", text[max(0, at - 1) : at + 1]) is not None


def on_content_tokens(given: GivenScores, tokens: Tokens) -> np.ndarray:
    """(n,) scores of a model's content tokens.

    Each span's score is shared by the characters that tokens have of it. Tokens in no span get 0; a
    span that the model does not read is left out.

    Args:
        given: Scores of the text.
        tokens: What the model reads of it.
    """
    overlap = np.maximum(overlaps(tokens.offsets, given.spans), 0)
    each = divide(given.scores, overlap.sum(axis=0))
    return (overlap @ each)[tokens.content]


def as_methods(
    rows: Sequence[GivenScores], labels: Sequence[str], taken: Iterable[str] = ()
) -> dict[str, Method]:
    """Methods that answer from a file, by name.

    A text's row is found by its text; of several the one with its id, and of the class that is
    asked for.

    Args:
        rows: Scores of texts.
        labels: The classes that targets are of.
        taken: Names of other methods.

    Raises:
        ValueError: A method is named as one of `taken`, a text, id and class have two rows, or a
            target is no class.
    """
    taken = set(taken)
    by_method: dict[str, dict] = {}
    for row in rows:
        if row.method in taken:
            raise ValueError(
                f"the attributions name a method {row.method!r}, as one here is named; give it "
                f"another name, such as {row.method + '_theirs'!r}"
            )
        explained = None
        if row.target is not None:
            explained = index_of(row.target, labels)
            if explained is None:
                there = ", ".join(map(str, labels))
                raise ValueError(
                    f"{row.method!r} explains the class {row.target!r}; there are: {there}"
                )
        of_text = by_method.setdefault(row.method, {}).setdefault(row.segments, [])
        if any((row.id, explained) == (other.id, known) for known, other in of_text):
            which = repr(row.id) if row.id else f"{row.segments!r:.80}"
            raise ValueError(
                f"{row.method!r} has two rows for the text {which}; rows of one text differ in "
                "id or target"
            )
        of_text.append((explained, row))
    return {name: _method(name, stored, tuple(labels)) for name, stored in by_method.items()}


def _method(name: str, stored: dict, labels: tuple[str, ...]) -> Method:
    """A method that looks its answer up. stored: text -> (class, row) of each of its rows."""

    def given(instance: Instance, tokens: Tokens, target: int) -> Scores:
        rows = stored.get(instance.segments, [])
        if not rows:
            raise ValueError(f"{name!r} has no scores for the text {instance.segments!r:.80}")
        whole = f"/{instance.id}"  # behind task and split stands the id of a row
        own = [(known, row) for known, row in rows if row.id and whole.endswith(f"/{row.id}")]
        of_class = dict(reversed(own or rows))
        row = of_class.get(target, of_class.get(None))
        if row is None:
            raise AnotherClass(
                f"{name!r} explains the class {labels[min(of_class)]!r} of {instance.id!r}; "
                f"asked is {labels[target]!r}"
            )
        return Scores(on_content_tokens(row, tokens))

    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        raise ValueError(
            f"{name!r} was made elsewhere: it has no scores for other texts than those of its file"
        )
        yield

    title = name.replace("_", " ")
    return Method(name, title, converse, "0", "made elsewhere", "given", given=given)
