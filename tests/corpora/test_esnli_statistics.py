"""The published statistics of e-SNLI's highlights, from the real files: needs ATTREVAL_CORPORA."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from attreval.core.records import Instance
from attreval.metrics.scored_text import overlap, spaced_marks
from attreval.texts.rows import Counts
from compendium.corpora import text_pairs
from compendium.corpora.table import csv_rows, join_segments, word_bounds

FOLDER = Path(os.environ.get("ATTREVAL_CORPORA", "/nowhere")) / "esnli"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="ATTREVAL_CORPORA names no folder with esnli in it"
)


@pytest.fixture(scope="module")
def annotated():
    """(rows of dev and test, instances of every fourth, counts of what was left out)."""
    counts = Counts()
    rows = [
        row
        for split in ("dev", "test")
        for pair in csv_rows(FOLDER / f"esnli_{split}.csv")
        for row in text_pairs.annotated_row(pair, split, counts)
    ]
    some = rows[::4]
    texts = list(dict.fromkeys(text for row in some for text in row.segments))
    words = dict(zip(texts, word_bounds(texts), strict=True))
    instances = []
    for row in some:
        found = join_segments([words[text] for text in row.segments])
        instances.append(
            Instance(
                row.id, row.segments, row.label, found, row.split, row.evidence(row.segments, found)
            )
        )
    return rows, instances, counts


def test_every_highlight_fits_and_words_are_highlighted_as_often_and_as_alike_as_published(
    annotated,
):
    """All three highlight .35 of what anybody highlights, and .72 of the smallest highlight."""
    rows, instances, counts = annotated
    assert len(rows) == 9842 + 9824 and counts.dropped.total() == 0
    marks = [spaced_marks(i) for i in instances]
    np.testing.assert_allclose(
        np.mean([one.sum(axis=1) for one in marks], axis=0), [4.29, 4.44, 4.32], atol=0.05
    )
    np.testing.assert_allclose(
        np.nanmean([overlap(one) for one in marks], axis=0), [0.35, 0.72], atol=0.01
    )


def test_the_published_counts_are_of_words_that_begin_with_a_highlight(annotated):
    """The count of the released code, over the raw files."""
    pairs = [pair for split in ("dev", "test") for pair in csv_rows(FOLDER / f"esnli_{split}.csv")]
    for person, published in zip("123", (4.289, 4.437, 4.324), strict=True):
        texts = [
            f"{pair[f'Sentence1_marked_{person}']} {pair[f'Sentence2_marked_{person}']}"
            for pair in pairs
        ]
        counts = [len(re.findall(r"\*(?=\w)", text, re.ASCII)) for text in texts]
        assert np.mean(counts) == pytest.approx(published, abs=0.0005)
