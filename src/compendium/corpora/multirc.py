"""MultiRC in ERASER's format: a document, a question with one answer, and the sentences that decide it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.fetch.errors import FetchError
from compendium.corpora.spans import mark_spans
from compendium.corpora.tasks import TASKS


def build_multirc(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the official dev and test; train is the official file, or val1.jsonl (no document shared)."""
    train = next((name for name in ("multirc/train.jsonl", "multirc/val1.jsonl") if name in sources), None)
    if train is None:
        raise FetchError("multirc needs multirc/train.jsonl (or val1.jsonl) in the folder that ATTREVAL_CORPORA names")
    for split, name in (("train", train), ("dev", "multirc/val.jsonl"), ("test", "multirc/test.jsonl")):
        with sources[name].open(encoding="utf-8") as handle:
            for item in map(json.loads, handle):
                yield _make_row(item, split, sources["multirc/docs"])


def _make_row(item: dict, split: str, documents: Path) -> Row:
    """One question-answer pair on its document, with the spans of the evidence sentences."""
    text, tokens = read_document(documents / item["annotation_id"].split(":")[0])
    pieces = [piece for group in item["evidences"] for piece in group]
    spans = [(tokens[piece["start_token"]][0], tokens[piece["end_token"] - 1][1]) for piece in pieces]
    label = TASKS["multirc"].labels.index(item["classification"])
    segments = (text, item["query"])
    return Row(f"multirc/{split}/{item['annotation_id']}", split, segments, label, partial(mark_spans, spans))


@cache
def read_document(path: Path) -> tuple[str, list[tuple[int, int]]]:
    """A document with its sentences joined by spaces, and the characters of each of its tokens."""
    text = " ".join(path.read_text(encoding="utf-8").split("\n"))
    return text, [match.span() for match in re.finditer(r"\S+", text)]
