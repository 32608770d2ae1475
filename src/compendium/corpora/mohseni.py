"""Posts of 20 newsgroups with the words that a person found relevant to their group (Mohseni & Ragan 2018)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence
from attreval.texts.rows import Counts, Row
from compendium.corpora.newsgroups import HALVES, read_posts, strip
from compendium.corpora.splits import by_share, same_text
from compendium.corpora.tasks import TASKS

GROUPS = ("sci.electronics", "sci.med")


def build_manual_newsgroups(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the posts with a list, all in test: raw posts with headers, as Poerner et al. 2018 show the model.

    Posts of the official training part are dropped: the model has learned from them.
    """
    lists = {
        (group, path.stem): _read_list(path) for group in GROUPS for path in sources[f"mohseni/{group}"].glob("*.json")
    }
    for part, group, number, content in read_posts(sources["newsgroups/20news-bydate.tar.gz"]):
        relevant = lists.pop((group, number), None) if part == "test" else None
        if relevant is None:
            continue
        if not relevant:
            counts.dropped["an empty list"] += 1
            continue
        if by_share(same_text(strip(content)), HALVES, "newsgroups") == "dev":
            counts.noted["posts that are in dev of the task newsgroups"] += 1
        label = TASKS["newsgroups"].labels.index(group)
        yield Row(f"manual_newsgroups/test/{group}/{number}", "test", (content,), label, mark_words(relevant))
    if lists:
        counts.dropped["a list whose post is not in the official test part"] += len(lists)


def _read_list(path: Path) -> list[str]:
    """The relevant words of a post, in lower case; their weights are not used."""
    return [word.strip().lower() for word, _ in json.loads(path.read_text(encoding="utf-8"))["words"] if word.strip()]


def mark_words(relevant: list[str]) -> Callable[[tuple[str, ...], np.ndarray], Evidence]:
    """What marks words in two rows: the rule of the released code of Poerner et al. 2018, and that of their text.

    Row 0: the word begins or ends with a listed word. Row 1: the word is the beginning or the end of a listed word.
    """

    def mark(segments, words):
        texts = [segments[s][a:b].lower() for s, a, b in words]
        code = [any(word.startswith(r) or word.endswith(r) for r in relevant) for word in texts]
        text = [any(r.startswith(word) or r.endswith(word) for r in relevant) for word in texts]
        return Evidence(marks=np.array([code, text], dtype=float))

    return mark
