"""Agreement sentences with subjects and tags that people have annotated: Universal Dependencies English EWT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attreval.core.tables import read_instances
from attreval.texts.rows import Counts, Row
from compendium.corpora.subject_verb import Sentence, choose_new, make_row, vocabulary_of

PARTS = ("train", "train.reconstructed", "dev", "test")
FORM, TAG, HEAD, RELATION = 1, 4, 6, 7


def build_agreement_ud(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of all parts, all in test; rare are the words that are rare to the model of agreement_parsed."""
    yield from _rows("agreement_ud", vocabulary_of(read_instances(sources["agreement_parsed"])), sources, counts)


def build_agreement_ud_whole(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """The same to the model of agreement_whole."""
    yield from _rows("agreement_ud_whole", vocabulary_of(read_instances(sources["agreement_whole"])), sources, counts)


def _rows(task: str, known: set[str], sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    seen: set[str] = set()
    for part in PARTS:
        path = sources.get(f"ud_ewt/en_ewt-ud-{part}.conllu")
        for number, sentence in enumerate(_read_trees(path) if path else ()):
            if found := choose_new(sentence, seen, counts):
                yield make_row(f"{task}/test/{part}-{number}", sentence, found, known)


def _read_trees(path: Path) -> Iterator[Sentence]:
    """The trees of a CoNLL-U file, syntactic words only; ranges (`3-4`) and empty nodes (`5.1`) are left out."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        rows = [cells for cells in lines if cells[0].isdigit()]
        if rows:
            yield Sentence(
                words=tuple(cells[FORM].replace(" ", "_") for cells in rows),
                tags=tuple(cells[TAG] for cells in rows),
                # heads count from 1 and a root's is 0
                heads=tuple(int(cells[HEAD]) - 1 if cells[HEAD] != "0" else at for at, cells in enumerate(rows)),
                relations=tuple(cells[RELATION] for cells in rows),
            )
