"""SST-2: one sentence a line, `label text`, tokenised and in lower case, with the official splits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row

BRACKETS = re.compile(r"-[lr]rb-", re.IGNORECASE)
NO_WORD = re.compile(r"\W+")


def build_sst2(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the official splits, cleaned as Zhao & Aletras 2023 clean them; ids hold line numbers."""
    for split in ("train", "dev", "test"):
        lines = sources[f"sst2/stsa.binary.{split}"].read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines):
            if line.strip():
                label, text = line.split(" ", 1)
                yield Row(f"sst2/{split}/{number}", split, (clean(text),), int(label))


def clean(text: str) -> str:
    """Bracket tokens out, every run of non-word characters to one space, lower case."""
    return NO_WORD.sub(" ", BRACKETS.sub(" ", text)).strip().lower()
