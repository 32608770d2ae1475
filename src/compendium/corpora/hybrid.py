"""Documents whose evidence is known: ten sentences of many texts (Poerner et al. 2018, 4.1).

A classifier that gives such a document a class can only have it from the sentences that come from
texts of this class. The sentences are those of the test instances of another task, whose model
reads the documents; spaCy's rule-based sentencizer finds them (the paper: NLTK's Punkt, whose data
no package registry carries).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from attreval.core.records import Evidence
from attreval.core.tables import read_instances
from attreval.texts.rows import Counts, Row, Sources
from attreval.texts.words import classes_of_words, mix_sentences

if TYPE_CHECKING:
    from spacy import Language

SENTENCES = 10
OWN_SENTENCES = 4  # of fifteen short texts


@cache
def splitter() -> "Language":
    """spaCy's English tokenizer with its rule-based sentencizer, nothing trained."""
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**8  # the limit guards the parser's memory, and there is no parser here
    return pipeline


def sentences_of(texts: Iterable[str]) -> Iterator[list[str]]:
    """The sentences of each text, white space runs made one space, blank ones left out."""
    for document in splitter().pipe(texts, batch_size=200):
        yield [clean for sentence in document.sents if (clean := " ".join(sentence.text.split()))]


def build_hybrid(
    parent: str, sources: Sources, counts: Counts, sentences_each: int = SENTENCES
) -> Iterator[Row]:
    """Rows of hybrid documents, all in test, from the test instances of the parent task's table.

    label: the class of most words, the lowest on a tie. sentences_each: of a document; the last may
        have fewer.
    """
    instances = read_instances(sources[parent], "test")
    found = sentences_of(instance.segments[0] for instance in instances)
    pool = []
    for instance, sentences in zip(instances, found, strict=True):
        pool += [(sentence, instance.label) for sentence in sentences]
    counts.noted["sentences"] += len(pool)
    for number, chosen in enumerate(mix_sentences(pool, sentences_each, "hybrid", parent)):
        text = " ".join(sentence for sentence, _ in chosen)
        evidence = partial(_label_words, chosen)
        sizes: Counter[int] = Counter()
        for sentence, label in chosen:
            sizes[label] += len(sentence.split())
        most = min(sizes, key=lambda k: (-sizes[k], k))
        yield Row(f"hybrid_{parent}/test/{number}", "test", (text,), most, evidence)


def _label_words(
    chosen: list[tuple[str, int]], _segments: tuple[str, ...], words: np.ndarray
) -> Evidence:
    """The classes of words: each has the label of its sentence."""
    return Evidence(classes=tuple(classes_of_words(chosen, words).tolist()))


build_hybrid_bbc = partial(build_hybrid, "bbc")
build_hybrid_imdb = partial(build_hybrid, "imdb")
build_hybrid_newsgroups = partial(build_hybrid, "newsgroups")
build_hybrid_yelp = partial(build_hybrid, "yelp")
build_hybrid_own_reviews = partial(build_hybrid, "own_reviews", sentences_each=OWN_SENTENCES)
build_hybrid_own_news = partial(build_hybrid, "own_news", sentences_each=OWN_SENTENCES)
