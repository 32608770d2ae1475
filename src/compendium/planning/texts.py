"""Which texts a plan counts on: those of the tables that are at hand, else made-up ones of a declared length."""

from __future__ import annotations

from functools import lru_cache
from itertools import cycle, islice

import numpy as np
import pyarrow.parquet as pq

from attreval.core.records import Instance
from compendium import corpora
from compendium.corpora import TASKS

# mean words of a text where its table is not at hand, from the tables of `quick` and the papers' tables of data
WORDS = {
    "snli": 23,
    "esnli": 23,
    "fever": 300,
    "rotten_tomatoes": 22,
    "sst2": 19,
    "rated_movies": 22,
    "ag_news": 45,
    "evidence_inference": 360,
    "multirc": 330,
    "newsgroups": 250,
    "yelp": 150,
    "bbc": 430,
    "imdb": 270,
    "agreement_parsed": 12,
    "agreement_ud": 25,
    "agreement_linzen": 25,
    "hybrid_bbc": 240,
    "hybrid_imdb": 230,
    "hybrid_newsgroups": 250,
    "hybrid_yelp": 160,
    "manual_newsgroups": 250,
}
LOOKED_AT = 2000  # instances whose lengths stand for those of all; a table's order is random
OTHERWISE = 100  # of a corpus of one's own that has not been read


@lru_cache(maxsize=64)
def known_texts(task: str, split: str) -> tuple[list[Instance], int]:
    """The first LOOKED_AT instances of a split, and how many it has; none where its table is not at hand."""
    path = corpora.table_path(task)
    if split not in TASKS[task].splits or not path.exists():
        return [], 0
    count = pq.read_table(path, columns=["split"], filters=[("split", "=", split)]).num_rows
    return corpora.load(task, split, LOOKED_AT), count


def texts_of(task: str, split: str, rows: int) -> list[Instance]:
    """As many texts as the first `rows` of a split are, or as it has; without a table, one made-up text many times.

    Instances that stand for others are the same object.
    """
    known, count = known_texts(task, split)
    known, count = (known, min(rows, count)) if known else ([_make_up(task)], rows)
    return list(islice(cycle(known), count))


@lru_cache(maxsize=64)
def _make_up(task: str) -> Instance:
    """A text of as many different words as the task's have on average, shared out over its segments."""
    count, sides = WORDS.get(task, OTHERWISE), len(TASKS[task].segments)
    segments, rows = [], []
    for side in range(sides):
        words = [f"w{side}{i}" for i in range(max(1, count // sides))]
        ends = np.cumsum([len(word) + 1 for word in words])
        rows += [(side, int(end) - len(word) - 1, int(end) - 1) for word, end in zip(words, ends, strict=True)]
        segments.append(" ".join(words))
    return Instance(f"{task}/made up", tuple(segments), 0, np.array(rows))
