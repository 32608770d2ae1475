"""A user's text files: UTF-8, or with a mark of their encoding.

What is neither is said with byte, line and remedy.
"""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def read_text(path: Path) -> str:
    """The text of a file; line breaks stay as they are.

    Raises:
        ValueError: It is neither UTF-8 nor UTF-16 with a byte order mark; names the first byte and
            line that are not, and how to convert the file.
    """
    data = path.read_bytes()
    encoding = next((name for mark, name in MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-16":
            raise ValueError(
                f"{path.name} begins as UTF-16, but is cut off or damaged at byte {error.start}"
            ) from None
        line = data.count(b"\n", 0, error.start) + 1
        begin = max(data.rfind(b"\n", 0, error.start) + 1, error.start - 20)
        shown = data[begin : error.start + 20].partition(b"\n")[0].decode("latin-1")
        raise ValueError(
            f"{path.name} is not UTF-8: byte {data[error.start]:#04x} at position {error.start}, "
            f"line {line}, near {shown!r}. Save it as UTF-8 (in a spreadsheet: CSV UTF-8), or "
            f"convert it: iconv -f windows-1252 -t utf-8 {path.name} > new{path.suffix}"
        ) from None
    if "\0" in text[:100_000]:
        raise ValueError(
            f"{path.name} is no text in UTF-8: it holds zero bytes, as UTF-16 without a mark or "
            "binaries do"
        )
    return text


def lines_of_json(text: str, name: str) -> Iterator[dict]:
    """The objects of a file of JSON lines, or of one JSON list; a string is a `text`.

    Args:
        text: Of the file.
        name: Its name, for messages.

    Raises:
        ValueError: Names a wrong line.
    """
    if text.lstrip()[:1] == "[":
        try:
            rows = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{name}, line {error.lineno}: no JSON list: {error.msg}") from None
        lines = [json.dumps(row) for row in rows]
    else:
        lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{name}, line {number}: no JSON object: {error.msg}, near {line[:60]!r}"
            ) from None
        row = {"text": row} if isinstance(row, str) else row
        if not isinstance(row, dict):
            raise ValueError(
                f'{name}, line {number}: an object of columns is needed, such as {{"text": …}}; '
                f"got {line!r:.60}"
            )
        yield row
