"""Evidence Inference on abstracts: does an intervention change an outcome, and which words say so?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.spans import mark_spans
from compendium.corpora.tasks import TASKS

FILE = "evidence_inference/evidence_inference_abstract.jsonl"
SPLITS = {"train": "train", "validation": "dev", "test": "test"}


def build_evidence_inference(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the official splits by article: abstract, and `intervention || comparator || outcome`."""
    with sources[FILE].open(encoding="utf-8") as handle:
        for item in map(json.loads, handle):
            split = SPLITS[item["split"]]
            query = " || ".join(item[name] for name in ("intervention", "comparator", "outcome"))
            spans = [tuple(span) for span in item["evidence_in_abstract"]]
            counts.noted[f"{'with' if spans else 'without'} evidence spans ({split})"] += 1
            yield Row(
                f"evidence_inference/{split}/{item['prompt_id']}",
                split,
                (item["abstract"], query),
                TASKS["evidence_inference"].labels.index(item["label"]),
                partial(mark_spans, spans),
            )
