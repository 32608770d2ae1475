"""Quotes: whether a piece of writing holds words of a corpus, and of which text.

Only letters are looked at, in lower case, so that it makes no difference how a text was cut up: into cells, coloured
boxes, parts of words or rows with numbers between them. A quote is WINDOW letters in a row, about eight words, that
begin where a word of the corpus does; a shorter text is found as a whole, if it has SHORTEST letters and FEWEST words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

WINDOW, SHORTEST, FEWEST = 32, 16, 4
WORD = re.compile(r"[^\W\d_]+")
BASE = np.uint64(0x9E3779B97F4A7C15)
FILTER_BITS = 24
BATCH = 4_000_000  # letters of a corpus that are looked at together


def letters(text: str) -> str:
    """The letters of a text, in lower case, without anything between them."""
    return "".join(WORD.findall(text.casefold()))


def find_quotes(
    pieces: Mapping[str, str], texts: Iterable[tuple[str, tuple[str, ...]]], exempt: Iterable[str] = ()
) -> dict[str, list[str]]:
    """For each piece that quotes a text, the ids of texts that hold all it quotes, those with most of it first.

    pieces: writing by name. texts: (id, segments). exempt: texts whose words may be quoted, whoever else has them.
    """
    found = _Pieces(pieces, [letters(text) for text in exempt])
    for batch in _batches(texts):
        found.look_for(batch)
    return found.cover()


def _batches(texts: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[list[tuple[str, list[str]]]]:
    """(id, words) of each segment, so many at a time that they fit into memory."""
    batch, size = [], 0
    for name, segments in texts:
        for segment in segments:
            words = WORD.findall(segment.casefold())
            batch.append((name, words))
            size += len(segment)
        if size > BATCH:
            yield batch
            batch, size = [], 0
    yield batch


class _Pieces:
    """The letters of all pieces, one after the other, and what was found in them."""

    def __init__(self, pieces: Mapping[str, str], exempt: list[str]):
        self.names, self.exempt = list(pieces), exempt
        runs = [WORD.findall(text.casefold()) for text in pieces.values()]
        self.all = "\n".join("".join(words) for words in runs)
        self.starts = np.cumsum([0, *(sum(map(len, words)) + 1 for words in runs)])
        self.codes = _codes(self.all)
        self.words = np.concatenate(
            [np.zeros(0, int), *(at + _word_starts(w) for at, w in zip(self.starts[:-1], runs, strict=True))]
        )
        self.indices: dict[int, _Index] = {}
        self.quotes: dict[str, set[str]] = defaultdict(set)  # quoted letters -> ids of texts

    def index(self, length: int) -> _Index:
        """Where the windows of a length are: all of them, or, of a short one, those that begin with a word."""
        if length not in self.indices:
            hashes = _hash_windows(self.codes, length)
            places = np.arange(len(hashes)) if length == WINDOW else self.words[self.words < len(hashes)]
            self.indices[length] = _Index(hashes[places], places)
        return self.indices[length]

    def look_for(self, batch: list[tuple[str, list[str]]]) -> None:
        """Note what the pieces quote of these texts."""
        streams = ["".join(words) for _, words in batch]
        by_length = defaultdict(list)
        for at, (stream, (_, words)) in enumerate(zip(streams, batch, strict=True)):
            if len(stream) >= WINDOW or (len(stream) >= SHORTEST and len(words) >= FEWEST):
                by_length[min(len(stream), WINDOW)].append(at)
        for length, chosen in by_length.items():
            sizes = np.array([len(streams[at]) for at in chosen])
            begins = np.cumsum([0, *sizes[:-1]])
            # a short text begins once, a longer one at each of its words
            starts = [_word_starts(batch[at][1]) if length == WINDOW else np.zeros(1, int) for at in chosen]
            owner = np.repeat(np.arange(len(chosen)), [len(some) for some in starts])
            starts = np.concatenate(starts)
            fits = starts + length <= sizes[owner]
            places, owner = (begins[owner] + starts)[fits], owner[fits]
            together = "".join(streams[at] for at in chosen)
            hashes = _hash_windows(_codes(together), length)[places]
            for hit in self.index(length).known(hashes):
                self._note(together[places[hit] : places[hit] + length], batch[chosen[owner[hit]]][0])

    def _note(self, quote: str, name: str) -> None:
        if quote in self.quotes or not any(quote in text for text in self.exempt):
            self.quotes[quote].add(name)

    def cover(self) -> dict[str, list[str]]:
        """By piece that quotes anything, a few texts that hold all of it: again and again the one that holds most."""
        held: dict[int, set[str]] = defaultdict(set)
        for quote in self.quotes:
            for place in self.index(len(quote)).places_of(_hash_windows(_codes(quote), len(quote))[0]):
                if self.all.startswith(quote, place):
                    held[int(np.searchsorted(self.starts, place, side="right")) - 1].add(quote)
        out = {}
        for piece, quotes in sorted(held.items()):
            names = []
            while quotes:
                counts = Counter(name for quote in quotes for name in self.quotes[quote])
                names.append(min(counts, key=lambda name: (-counts[name], "/train/" in name, name)))
                quotes = {quote for quote in quotes if names[-1] not in self.quotes[quote]}
            out[self.names[piece]] = names
        return out


class _Index:
    """Hashes of windows in order, where each is, and a filter that most others do not pass."""

    def __init__(self, hashes: np.ndarray, places: np.ndarray):
        order = np.argsort(hashes, kind="stable")
        self.hashes, self.places = hashes[order], places[order]
        self.filter = np.zeros(1 << FILTER_BITS, dtype=bool)
        self.filter[self.hashes >> np.uint64(64 - FILTER_BITS)] = True

    def known(self, hashes: np.ndarray) -> np.ndarray:
        """Places of those hashes that are here, too."""
        may = np.flatnonzero(self.filter[hashes >> np.uint64(64 - FILTER_BITS)])
        return may[np.isin(hashes[may], self.hashes)]

    def places_of(self, one: np.uint64) -> np.ndarray:
        """Where the windows of a hash are."""
        return self.places[slice(*np.searchsorted(self.hashes, [one, one + np.uint64(1)]))]


def _codes(stream: str) -> np.ndarray:
    """(n,) uint64 code points."""
    return np.frombuffer(stream.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)


def _word_starts(words: list[str]) -> np.ndarray:
    """Where each word begins in its text's letters."""
    return np.cumsum([0, *map(len, words[:-1])])


def _hash_windows(codes: np.ndarray, length: int) -> np.ndarray:
    """(n - length + 1,) uint64: a polynomial of every window; windows are put together from halves."""
    if len(codes) < length:
        return np.zeros(0, np.uint64)
    powers, size = codes * BASE + np.uint64(1), 1
    result, taken = None, 0
    factor = BASE
    with np.errstate(over="ignore"):
        while True:
            if length & size:
                result = powers if result is None else _join(result, powers, taken, factor)
                taken += size
            if taken == length:
                break
            powers = _join(powers, powers, size, factor)
            factor, size = factor * factor, size * 2
    mixed = result ^ (result >> np.uint64(29))  # the filter goes by the highest bits
    return mixed * BASE


def _join(first: np.ndarray, second: np.ndarray, shift: int, factor: np.uint64) -> np.ndarray:
    """The polynomials of windows that consist of one of `first` and, `shift` letters on, one of `second`."""
    room = len(second) - shift
    return first[:room] * factor + second[shift:]
