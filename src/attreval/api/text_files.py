"""Texts of a file: a table with a column of them, JSON lines, or plain lines. Nothing is dropped without a word."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

ENDINGS = (".csv", ".tsv", ".jsonl", ".txt")
LONGEST_CELL = 10_000_000  # characters; the csv module stops at 131,072 by itself


def read_texts(
    path: str | Path, column: str | None = None, pair_column: str | None = None
) -> list[str | tuple[str, str]]:
    """The texts of a .csv or .tsv (with a line of names), .jsonl (objects, or strings) or .txt file (a text a line).

    column: where the texts stand, `text` or the only one where not named. pair_column: of second texts; each row is a
    pair then. Raises ValueError, with the line, for a text that is empty or missing, an unknown column or ending, and
    for what is not UTF-8; OSError where the file cannot be read.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"texts are read from {', '.join(ENDINGS)} files; {path.name!r} ends in none of them")
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8 first") from None
    if ending == ".txt":
        if column or pair_column:
            raise ValueError(f"{path.name} holds a text a line and has no columns; use a .csv or .jsonl file")
        rows = [(at, {"text": line}) for at, line in enumerate(content.removesuffix("\n").split("\n"), 1) if content]
    else:
        rows = _read_json_lines(path, content) if ending == ".jsonl" else _read_table(path, content, ending)
    if not rows:
        raise ValueError(f"{path} holds no text")
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    first = _find_column(path, names, column)
    wanted = [first] if pair_column is None else [first, _find_column(path, names, pair_column)]
    texts = [tuple(_cell(path, at, row, name) for name in wanted) for at, row in rows]
    return [text[0] if len(text) == 1 else text for text in texts]


def _read_table(path: Path, content: str, ending: str) -> list[tuple[int, dict]]:
    """(line, name -> cell) of each row of a table."""
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.DictReader(io.StringIO(content, newline=""), delimiter="\t" if ending == ".tsv" else ",", strict=True)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num + 1}: {error}") from None


def _read_json_lines(path: Path, content: str) -> list[tuple[int, dict]]:
    """(line, name -> value) of each line that is not blank; a string is the `text`."""
    rows = []
    for at, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {at} is no JSON: {error}") from None
        if not isinstance(found, (str, dict)):
            raise ValueError(f"{path}, line {at} is neither an object nor a string: {line:.60}")
        rows.append((at, {"text": found} if isinstance(found, str) else found))
    return rows


def _find_column(path: Path, names: list, wanted: str | None) -> str:
    """The column of texts. ValueError where it is not there, or not clear which it is."""
    known = ", ".join(str(name) for name in names if name is not None)
    if wanted is None:
        alike = [name for name in names if isinstance(name, str) and name.strip().lower() == "text"]
        if len(alike) == 1 or len(names) == 1:
            return (alike or names)[0]
        raise ValueError(f"{path} has no column `text`; say with --column which of these holds the texts: {known}")
    if wanted not in names:
        raise ValueError(f"{path} has no column {wanted!r}; there are: {known}")
    return wanted


def _cell(path: Path, at: int, row: dict, name: str) -> str:
    """One text. ValueError for one that is missing or empty."""
    text = row.get(name)
    if not isinstance(text, str) or not text.strip():
        what = (
            "has no text" if text is None else f"is empty ({text!r})" if isinstance(text, str) else f"is {text!r:.40}"
        )
        raise ValueError(f"{path}, line {at}: `{name}` {what}; leave the line out, or give it a text")
    return text


def join_pairs(texts: list[str], others: list[str]) -> list[str | tuple[str, str]]:
    """Texts, or pairs of them with as many others. ValueError for another number of others."""
    if others and len(others) != len(texts):
        raise ValueError(
            f"there are {len(texts)} texts and {len(others)} second texts; give --pair once for each --text, or never"
        )
    return list(zip(texts, others, strict=True)) if others else list(texts)
