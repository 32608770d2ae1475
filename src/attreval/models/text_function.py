"""Any function from texts to probabilities as a classifier: a pipeline of scikit-learn, a service.

It is asked about texts and nothing else. Its tokens are the words of a text, each with the white
space before it, so that words put together again are the text to the letter. A masked word is left
out, as a deleted one is, unless a string is declared that stands in its place. Class scores are the
logarithms of probabilities, from that of FLOOR up.
Letters used for shapes: B rows, L tokens, K classes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attreval.core.alignment import place_tokens
from attreval.core.records import Instance, Tokens
from attreval.core.seeds import seed_of
from attreval.models.checks import TEXTS, TOLERANCE
from attreval.texts.given import read_columns, read_names
from attreval.texts.words import words_of

FLOOR = 1e-12  # a probability of 0, which trees and naive Bayes give, has a logarithm all the same
SUM_TOLERANCE = 1e-3  # of rows: services round what they send
BLANK = 0  # the id of a masked word, and of padding
BORDER = 1  # the id of what lies between the two texts of a pair
ALONE = (
    "it is a function from texts to probabilities, with no gradients, no attention and no "
    "vectors to disturb"
)


@dataclass
class TextFunction:
    """A function from a list of n texts, strings or pairs of them, to (n, K) probabilities.

    Attributes:
        predict: The function.
        labels: K class names.
        tokenize: From a string to its words, in order and as they stand there; None takes the
            instance's own words.
        mask: The string in place of a masked word; None leaves it out.
        name: Of the function.
        pieces: What stands before a word, and the word, by the id that follows from them, so that
            it is the same in any company.
    """

    predict: Callable[[list], Any]
    labels: tuple[str, ...]
    tokenize: Callable[[str], Iterable[str]] | None = None
    mask: str | None = None
    name: str = "a function"
    family: str = "function"
    max_length: int = 1_000_000
    pad_id: int = BLANK
    pieces: dict[int, tuple[str, str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.mask is not None:
            self.pieces[BLANK] = (" ", self.mask)

    @property
    def device(self) -> torch.device:
        """Where its answers lie, wherever they come from."""
        return torch.device("cpu")

    def refusal(self, need: str) -> str:
        """Why it cannot answer what needs this, a key of checks.PROBES: it has none of it."""
        return ALONE

    def tokens(self, instance: Instance) -> Tokens:
        """An instance as words.

        Raises:
            ValueError: A text has no word, or `tokenize` gives words that do not stand in it.
        """
        ids: list[int] = []
        offsets: list[tuple[int, int, int]] = []
        texts: list[str] = []
        words = instance.words
        if self.tokenize is not None:
            words = words_of(instance.segments, self.tokenize)
        for side, text in enumerate(instance.segments):
            places = [(start, end) for at, start, end in words.tolist() if at == side]
            if not places:
                raise ValueError(
                    f"instance {instance.id!r} has nothing to explain: {text!r:.80} gives no word"
                )
            if side:
                ids.append(BORDER)
                offsets.append((-1, 0, 0))
                texts.append("")
            # what stands before the first word belongs to it, and what stands behind the last to
            # that one
            begins = [0, *(start for start, _ in places[1:])]
            untils = [*(end for _, end in places[:-1]), len(text)]
            before = 0
            for (start, end), begin, until in zip(places, begins, untils, strict=True):
                piece = (text[before:begin], text[begin:until])
                ids.append(seed_of("piece", *piece))
                self.pieces[ids[-1]] = piece
                offsets.append((side, start, end))
                texts.append(text[start:end])
                before = end
        segments = [2 if side < 0 else side for side, _, _ in offsets]
        return place_tokens(instance, ids, segments, np.array(offsets), texts, (BLANK, BLANK))

    def text_of(self, ids: Sequence[int], segments: Sequence[int]) -> str | tuple[str, ...]:
        """The text of a row, or both of a pair.

        What stood before its first word is gone with the word that was.
        """
        parts = []
        for side in (0, 1) if any(segments) else (0,):
            own = [one for one, segment in zip(ids, segments, strict=True) if segment == side]
            found = [self.pieces[one] for one in own if one in self.pieces]
            text = "".join(gap + word for gap, word in found)
            parts.append(text.removeprefix(found[0][0]) if found else text)
        return parts[0] if len(parts) == 1 else tuple(parts)

    def ask(self, texts: list) -> np.ndarray:
        """(n, K) probabilities of n texts.

        Raises:
            ValueError: The function gives anything else.
        """
        found = read_columns(self.predict(texts), self.labels, self.name)
        shape = (len(texts), len(self.labels))
        if found.shape != shape:
            raise ValueError(
                f"{self.name} gives numbers of shape {found.shape} for {len(texts)} texts; with "
                f"{len(self.labels)} labels ({', '.join(self.labels)}) it gives probabilities of "
                f"shape {shape}, a row a text and a column a class"
            )
        off = np.abs(found.sum(axis=1) - 1)
        near = (found >= 0).all(axis=1) & (off <= SUM_TOLERANCE)  # not so where it is no number
        if not near.all():
            at = int(near.argmin())
            raise ValueError(
                f"{self.name} gives {found[at].tolist()} for the text {texts[at]!r:.80}; "
                "probabilities of the classes are finite, not below 0, and sum to 1 (within "
                f"{SUM_TOLERANCE:g})"
            )
        return found

    def embed(self, ids: Tensor, precision: str = "float32") -> Tensor:
        """Refuse: a word of a text has no vector."""
        raise ValueError(ALONE)

    def logits(
        self,
        ids: Tensor | None,
        mask: Tensor,
        segments: Tensor,
        precision: str = "float32",
        **vectors: Any,
    ) -> Tensor:
        """(B, K) float64 logarithms of probabilities; rows of the same text are asked once.

        Args:
            ids, mask, segments: (B, L), see Classifier.logits.
            precision: Has no effect.
            vectors: Refused where given.

        Raises:
            RuntimeError: The function fails, or gives what are no probabilities.
            ValueError: Vectors are given.
        """
        if ids is None or any(given is not None for given in vectors.values()):
            raise ValueError(ALONE)
        rows = []
        for row, sides, kept in zip(ids, segments, mask.bool(), strict=True):
            rows.append(self.text_of(row[kept].tolist(), sides[kept].tolist()))
        texts = list(dict.fromkeys(rows))
        try:
            found = dict(zip(texts, self.ask(texts), strict=True))
        except Exception as error:
            raise RuntimeError(
                f"{self.name}, asked about {len(texts)} texts such as {texts[-1]!r:.80}: "
                f"{type(error).__name__}: {error}"
            ) from error
        probabilities = np.stack([found[text] for text in rows])
        return torch.from_numpy(probabilities).clamp(min=FLOOR).log()


def wrap_function(
    predict: Any,
    labels: Sequence[str] | Mapping | None,
    tokenize: Callable[[str], Iterable[str]] | None,
    mask: str | None,
) -> TextFunction:
    """A function as a classifier, tried out on two texts; see `attreval.wrap`.

    Where labels and the estimator whose method it is (`classes_`) name the same classes, the
    estimator's order holds.

    Args:
        predict, labels, tokenize, mask: See `attreval.wrap`.

    Raises:
        ValueError: It is no such function, or names of classes are missing.
    """
    if hasattr(predict, "parameters") or not callable(predict):
        method = "; give its method predict_proba" if hasattr(predict, "predict_proba") else ""
        raise ValueError(
            "a module is wrapped with its tokenizer, and without one a function from texts to "
            f"probabilities; got a {type(predict).__name__}{method}"
        )
    own = [str(name) for name in getattr(getattr(predict, "__self__", None), "classes_", ())]
    given = own if labels is None else list(map(str, read_names(labels)))
    given = own if sorted(given) == sorted(own) else given
    name = getattr(predict, "__qualname__", type(predict).__name__)
    if len(given) < 2 or len(set(given)) < len(given):
        raise ValueError(
            f"{name} needs labels=, two or more different names of classes in the order of its "
            f"columns; got {given}"
        )
    model = TextFunction(predict, tuple(given), tokenize, mask, name)
    together = model.ask(list(TEXTS))
    alone = np.concatenate([model.ask([text]) for text in TEXTS])
    difference = np.abs(together - alone).max()
    if difference > TOLERANCE:
        raise ValueError(
            f"{name} gives a text other probabilities beside another than alone, or each time "
            f"that it is asked (they differ by {difference:.2g}; allowed is {TOLERANCE:g}), so "
            "there is nothing fixed to explain"
        )
    return model
