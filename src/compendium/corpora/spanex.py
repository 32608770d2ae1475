"""SpanEx: which spans of premise and hypothesis (evidence and claim) do people relate to each other, and how?

The format is that of Ray Choudhury et al. (2023): a JSON object a line with premise, hypothesis, id, label, and
relations, each with its labels, the annotator of each label, the level (`low` between words, `high` between phrases),
and its characters in both parts. A relation becomes one interaction for each label; its words are those that lie wholly
inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence
from attreval.texts.rows import Counts, Row
from compendium.corpora.reading import json_lines
from compendium.corpora.tasks import TASKS

# what the code of Ray Choudhury et al. leaves out
EXCLUDED = {f"151166_{rest}_low" for rest in ("35_38_14_17", "38_41_17_20", "107_110_14_17", "110_113_17_20")}
MEANT = {"supports": "SUPPORTS", "refutes": "REFUTES", "nei": "NOT ENOUGH INFO", "not enough info": "NOT ENOUGH INFO"}


def build_spanex_snli(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the SNLI part, all test."""
    yield from build("spanex_snli", sources["spanex/snli_extended.jsonl"], counts)


def build_spanex_fever(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the FEVER part, all test."""
    yield from build("spanex_fever", sources["spanex/fever_extended.jsonl"], counts)


def build(task: str, path: Path, counts: Counts) -> Iterator[Row]:
    """Rows of one file; labels are matched by name, since their numbers differ between releases."""
    labels = {name.lower(): k for k, name in enumerate(TASKS[task].labels)}
    for item in json_lines(path):
        name = str(item["label"]).lower()
        name = MEANT.get(name, name).lower() if task == "spanex_fever" else name
        if name not in labels:
            counts.dropped[f"label {item['label']!r} is none of the task's"] += 1
            continue
        segments = (item["premise"], item["hypothesis"])
        found = partial(_relate_words, item["relations"], counts)
        yield Row(f"{task}/test/{item['id']}", "test", segments, labels[name], found)


def _relate_words(relations: list[dict], counts: Counts, segments: tuple[str, ...], words: np.ndarray) -> Evidence:
    """Evidence whose interactions are the relations, named `level label annotator`, over words."""
    found = []
    for relation in relations:
        if relation["id"] in EXCLUDED:
            counts.dropped["relation that the authors' code leaves out"] += 1
            continue
        ends = [
            inside(words, part, relation[f"start_{name}"], relation[f"end_{name}"])
            for part, name in enumerate(("premise", "hypothesis"))
        ]
        if None in ends:
            counts.dropped["relation without a whole word on one side"] += 1
            continue
        for label, annotator in zip(relation["labels"], relation["annotators"], strict=True):
            label = "Synonym" if label.startswith("Synonym-SYSTEM") else label
            found.append((*ends[0], *ends[1], f"{relation['level']} {label} {annotator}"))
    return Evidence(interactions=tuple(dict.fromkeys(found)))


def inside(words: np.ndarray, part: int, start: int, end: int) -> tuple[int, int] | None:
    """First word and the one after the last of those that lie wholly between two characters; None where none does."""
    held = np.flatnonzero((words[:, 0] == part) & (words[:, 1] >= start) & (words[:, 2] <= end))
    return (int(held[0]), int(held[-1]) + 1) if len(held) else None
