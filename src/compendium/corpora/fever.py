"""FEVER: does the evidence support the claim, refute it, or not suffice?

ERASER's files carry the first two labels. For the third, SufficientFacts took a piece of evidence away and
asked people whether the rest is enough: what they found not to be becomes NOT ENOUGH INFO, in the split in
which the claim already is. The evidence is the first of ERASER's alternative evidence sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import by_share, same_text
from compendium.corpora.tasks import TASKS

SHARES = {"train": 0.85, "dev": 0.15}
NOT_ENOUGH = "NOT ENOUGH"
SAME = (
    *(("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RSB-", "]"), ("-LCB-", "{"), ("-RCB-", "}")),
    *(("-COLON-", ":"), ("``", '"'), ("''", '"')),
)


def build_fever(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of all splits; without a training file, a hash of the claim splits `val.jsonl`."""
    split_of = {}
    parts = [("test", "fever/test.jsonl"), ("dev", "fever/val.jsonl")]
    parts += [("train", "fever/train.jsonl")] if "fever/train.jsonl" in sources else []
    for part, name in parts:
        for item in read_items(sources[name]):
            claim = same_text(item["query"])
            split = part if len(parts) == 3 or part == "test" else by_share(claim, SHARES, "fever")
            split = split_of.setdefault(claim, split)
            evidence = _join_evidence((piece["docid"], piece["text"]) for piece in item["evidences"][0])
            label = TASKS["fever"].labels.index(item["classification"])
            yield Row(f"fever/{split}/{item['annotation_id']}", split, (evidence, item["query"]), label)
    yield from _read_insufficient(sources["fever/fever_sufficient_facts.jsonl"], split_of, counts)


def _read_insufficient(path: Path, split_of: dict[str, str], counts: Counts) -> Iterator[Row]:
    """Rows whose remaining evidence is not enough; where it still is, the row is dropped."""
    label = TASKS["fever"].labels.index("NOT ENOUGH INFO")
    for number, item in enumerate(read_items(path)):
        if item["label_after"] != NOT_ENOUGH:
            counts.dropped["SufficientFacts: still enough evidence"] += 1
            continue
        claim = same_text(item["claim"])
        split = split_of.setdefault(claim, by_share(claim, SHARES, "fever"))
        yield Row(
            f"fever/{split}/sufficient-facts-{number}",
            split,
            (_join_evidence(item["evidence"]), item["claim"]),
            label,
        )


def read_items(path: Path) -> Iterator[dict]:
    """The JSON objects of a file with one on each line."""
    with path.open(encoding="utf-8") as handle:
        yield from map(json.loads, handle)


def _join_evidence(pieces) -> str:
    """Page title (underscores as spaces), a space, the sentence; pieces joined by spaces.

    The sources write brackets and quotes in two ways, which would give the third label away: made alike here.
    """
    text = " ".join(f"{title.replace('_', ' ')} {sentence}" for title, sentence in pieces)
    for written, meant in SAME:
        text = text.replace(written, meant)
    return text
