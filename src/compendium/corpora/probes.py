"""Agreement sentences to probe a model with, read by that of agreement_parsed or agreement_whole.

Universal Dependencies English EWT: people have annotated subjects and tags. Linzen et al.'s naturally occurring
sentences, in the selection of Gulordava et al. 2018: the files say where the verb is, its right and wrong form, and how
many attractors there are, but neither subject nor tags: those are spaCy's. A sentence where the parser finds no subject
of that verb and number is dropped and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from attreval.core.tables import read_instances
from attreval.texts.rows import Counts, Row
from compendium.corpora.subject_verb import (
    LONGEST,
    PARSER,
    Sentence,
    choose_new,
    find_agreements,
    load_parser,
    make_row,
    read_sentences,
    vocabulary_of,
)

PARTS = ("train", "train.reconstructed", "dev", "test")
FORM, TAG, HEAD, RELATION = 1, 4, 6, 7  # columns of a CoNLL-U file
TEXT, GOLD = "linzen/subj_agr_filtered.text", "linzen/subj_agr_filtered.gold"
END = "<eos>"


def _ud_rows(task: str, parent: str, sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of all parts, all in test; rare are the words that are rare to the model of the parent task."""
    known = vocabulary_of(read_instances(sources[parent]))
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


def _linzen_rows(task: str, parent: str, sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of all sentences, all in test; rare are the words that are rare to the model of the parent task."""
    known = vocabulary_of(read_instances(sources[parent]))
    lines = sources[TEXT].read_text(encoding="utf-8").splitlines()
    gold = sources[GOLD].read_text(encoding="utf-8").splitlines()
    kept = []
    for number, (line, answer) in enumerate(zip(lines, gold, strict=True)):
        words = [word for word in line.split() if word != END]
        verb, right, wrong, attractors = answer.split("\t")
        label = number_of(right, wrong)
        if len(words) > LONGEST:
            counts.dropped[f"more than {LONGEST} words"] += 1
        elif label is None:
            counts.dropped["two forms of which neither is the singular"] += 1
        else:
            kept.append((number, words, int(verb), label, int(attractors)))
    parsed = _parse_words(load_parser(sources[PARSER]), [words for _, words, *_ in kept])
    for (number, _, verb, label, attractors), sentence in zip(kept, parsed, strict=True):
        found = next((a for a in find_agreements(sentence) if (a.verb, a.number) == (verb, label)), None)
        if found is None:
            counts.dropped["no subject of this verb and number found by the parser"] += 1
        else:
            yield make_row(f"{task}/test/{number}", sentence, found, known, attractors)


def number_of(right: str, wrong: str) -> int | None:
    """0 where the right form is the singular one, which has the s (or more of it), 1 where the wrong one is."""
    forms = [form for form in (right, wrong) if form.endswith("s")]
    if not forms or right == wrong:
        return None
    return int(max(forms, key=len) == wrong)


def _parse_words(parser, texts: list[list[str]]) -> Iterator[Sentence]:
    """One parsed sentence a list of words, which stay the words they are."""
    import spacy

    def whole(words):
        # said beforehand, so that the parser does not cut the sentence in two
        starts = [at == 0 for at in range(len(words))]
        return spacy.tokens.Doc(parser.vocab, words=words, sent_starts=starts)

    for document in parser.pipe(map(whole, texts), batch_size=64):
        yield next(read_sentences(document))


build_agreement_ud = partial(_ud_rows, "agreement_ud", "agreement_parsed")
build_agreement_ud_whole = partial(_ud_rows, "agreement_ud_whole", "agreement_whole")
build_agreement_linzen = partial(_linzen_rows, "agreement_linzen", "agreement_parsed")
build_agreement_linzen_whole = partial(_linzen_rows, "agreement_linzen_whole", "agreement_whole")
