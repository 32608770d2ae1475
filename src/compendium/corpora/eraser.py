"""Corpora of ERASER: FEVER, MultiRC and Evidence Inference, each a document and a question about it.

ERASER's files of FEVER carry two labels. For the third, SufficientFacts took a piece of evidence away and asked people
whether the rest is enough: what they found not to be becomes NOT ENOUGH INFO, in the split in which the claim already
is. The evidence is the first of ERASER's alternative evidence sets.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence
from attreval.texts.rows import Counts, Row
from compendium.corpora.fetch import FetchError
from compendium.corpora.table import by_share, json_lines, same_text
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
        for item in json_lines(sources[name]):
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
    for number, item in enumerate(json_lines(path)):
        if item["label_after"] != NOT_ENOUGH:
            counts.dropped["SufficientFacts: still enough evidence"] += 1
            continue
        claim = same_text(item["claim"])
        split = split_of.setdefault(claim, by_share(claim, SHARES, "fever"))
        segments = (_join_evidence(item["evidence"]), item["claim"])
        yield Row(f"fever/{split}/sufficient-facts-{number}", split, segments, label)


def _join_evidence(pieces) -> str:
    """Page title (underscores as spaces), a space, the sentence; pieces joined by spaces.

    The sources write brackets and quotes in two ways, which would give the third label away: made alike here.
    """
    text = " ".join(f"{title.replace('_', ' ')} {sentence}" for title, sentence in pieces)
    for written, meant in SAME:
        text = text.replace(written, meant)
    return text


def build_multirc(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the official dev and test; train is the official file, or val1.jsonl (no document shared)."""
    train = next((name for name in ("multirc/train.jsonl", "multirc/val1.jsonl") if name in sources), None)
    if train is None:
        raise FetchError("multirc needs multirc/train.jsonl (or val1.jsonl) in the folder that ATTREVAL_CORPORA names")
    for split, name in (("train", train), ("dev", "multirc/val.jsonl"), ("test", "multirc/test.jsonl")):
        for item in json_lines(sources[name]):
            text, tokens = read_document(sources["multirc/docs"] / item["annotation_id"].split(":")[0])
            pieces = [piece for group in item["evidences"] for piece in group]
            spans = [(tokens[piece["start_token"]][0], tokens[piece["end_token"] - 1][1]) for piece in pieces]
            label = TASKS["multirc"].labels.index(item["classification"])
            marks = partial(mark_spans, spans)
            yield Row(f"multirc/{split}/{item['annotation_id']}", split, (text, item["query"]), label, marks)


@cache
def read_document(path: Path) -> tuple[str, list[tuple[int, int]]]:
    """A document with its sentences joined by spaces, and the characters of each of its tokens."""
    text = " ".join(path.read_text(encoding="utf-8").split("\n"))
    return text, [match.span() for match in re.finditer(r"\S+", text)]


def build_evidence_inference(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the official splits by article: abstract, and `intervention || comparator || outcome`."""
    for item in json_lines(sources["evidence_inference/evidence_inference_abstract.jsonl"]):
        split = "dev" if item["split"] == "validation" else item["split"]
        query = " || ".join(item[name] for name in ("intervention", "comparator", "outcome"))
        spans = [tuple(span) for span in item["evidence_in_abstract"]]
        counts.noted[f"{'with' if spans else 'without'} evidence spans ({split})"] += 1
        name, segments = f"evidence_inference/{split}/{item['prompt_id']}", (item["abstract"], query)
        label = TASKS["evidence_inference"].labels.index(item["label"])
        yield Row(name, split, segments, label, partial(mark_spans, spans))


def mark_spans(spans: list[tuple[int, int]], segments: tuple[str, ...], words: np.ndarray) -> Evidence:
    """Evidence of one annotator from character spans of the first segment: (1, W) marks, and word spans.

    A word belongs to a span that it shares a character with. No span, no evidence.
    """
    if not spans:
        return Evidence()
    marks, found = np.zeros((1, len(words))), set()
    for start, end in spans:
        inside = np.flatnonzero((words[:, 0] == 0) & (words[:, 1] < end) & (words[:, 2] > start))
        if len(inside):
            marks[0, inside] = 1
            found.add((int(inside[0]), int(inside[-1]) + 1, 0))
    return Evidence(marks=marks, spans=tuple(sorted(found)))
