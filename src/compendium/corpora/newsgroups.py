"""20 newsgroups, by date: posts without headers, footers and quotes; and posts whose relevant words a person listed.

Poerner et al. 2018 shuffle the official test part with a seed and take its second half as dev. Their order of files is
not known, so the halves are chosen here by a hash of the post. The lists are those of Mohseni & Ragan 2018.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)

from attreval.core.records import Evidence
from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import by_share, same_text
from compendium.corpora.tasks import TASKS

HALVES = {"dev": 0.5, "test": 0.5}
GROUPS = ("sci.electronics", "sci.med")


def build_newsgroups(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of all posts; one that is blank after stripping is dropped. Ids hold its group and number."""
    for part, group, number, content in _read_posts(sources["newsgroups/20news-bydate.tar.gz"]):
        text = _strip(content)
        split = "train" if part == "train" else by_share(same_text(text), HALVES, "newsgroups")
        if not text.strip():
            counts.dropped[f"blank without header, footer and quotes ({part} part)"] += 1
            continue
        yield Row(f"newsgroups/{split}/{group}/{number}", split, (text,), TASKS["newsgroups"].labels.index(group))


def _read_posts(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(train or test, group, number, raw text) of every post; the posts are Latin-1."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                folder, group, number = member.name.removeprefix("./").split("/")
                content = archive.extractfile(member).read().decode("latin-1")
                yield folder.removeprefix("20news-bydate-"), group, number, content


def _strip(content: str) -> str:
    """A post as scikit-learn gives it with remove=('headers', 'footers', 'quotes')."""
    return strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(content)))


def build_manual_newsgroups(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the posts with a list, all in test: raw posts with headers, as Poerner et al. 2018 show the model.

    Posts of the official training part are dropped: the model has learned from them.
    """
    lists = {
        (group, path.stem): _read_list(path) for group in GROUPS for path in sources[f"mohseni/{group}"].glob("*.json")
    }
    for part, group, number, content in _read_posts(sources["newsgroups/20news-bydate.tar.gz"]):
        relevant = lists.pop((group, number), None) if part == "test" else None
        if relevant is None:
            continue
        if not relevant:
            counts.dropped["an empty list"] += 1
            continue
        if by_share(same_text(_strip(content)), HALVES, "newsgroups") == "dev":
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
