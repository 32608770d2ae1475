"""20 newsgroups, by date: posts without headers, footers and quotes, as scikit-learn strips them.

Poerner et al. 2018 shuffle the official test part with a seed and take its second half as dev. Their order of
files is not known, so the halves are chosen here by a hash of the post.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)

from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import by_share, same_text
from compendium.corpora.tasks import TASKS

HALVES = {"dev": 0.5, "test": 0.5}


def build_newsgroups(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of all posts; one that is blank after stripping is dropped. Ids hold its group and number."""
    for part, group, number, content in read_posts(sources["newsgroups/20news-bydate.tar.gz"]):
        text = strip(content)
        split = "train" if part == "train" else by_share(same_text(text), HALVES, "newsgroups")
        if not text.strip():
            counts.dropped[f"blank without header, footer and quotes ({part} part)"] += 1
            continue
        yield Row(f"newsgroups/{split}/{group}/{number}", split, (text,), TASKS["newsgroups"].labels.index(group))


def read_posts(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(train or test, group, number, raw text) of every post; the posts are Latin-1."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                folder, group, number = member.name.removeprefix("./").split("/")
                content = archive.extractfile(member).read().decode("latin-1")
                yield folder.removeprefix("20news-bydate-"), group, number, content


def strip(content: str) -> str:
    """A post as scikit-learn gives it with remove=('headers', 'footers', 'quotes')."""
    return strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(content)))
