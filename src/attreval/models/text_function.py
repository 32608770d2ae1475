"""Any function from texts to probabilities as a classifier: a pipeline of scikit-learn, a service.

It is asked about texts and nothing else. Its tokens are the words of a text, each with the white
space before it, so that words put together again are the text to the letter. A masked word is left
out, as a deleted one is, unless a string is declared that stands in its place. Class scores are the
logarithms of probabilities, from that of FLOOR up.
Letters used for shapes: B rows, L tokens, K classes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from attreval.core.alignment import place_tokens
from attreval.core.records import Instance, Tokens
from attreval.core.seeds import seed_of
from attreval.models.checks import TEXTS
from attreval.models.classifier import Score
from attreval.models.folders import estimator_names
from attreval.models.outputs import OUTPUTS, Outputs, check_outputs
from attreval.models.service import NoAnswer, Service, count_votes, open_cache
from attreval.texts.given import read_columns
from attreval.texts.words import words_of

FLOOR = 1e-12  # a probability of 0, which trees and naive Bayes give, has a logarithm all the same
SUM_TOLERANCE = 0.02  # of rows: services round what they send to two digits
BLANK = 0  # the id of a masked word, and of padding
BORDER = 1  # the id of what lies between the two texts of a pair
MUST = {
    "classes": "probabilities of the classes are finite, not below 0, and sum to 1 (within "
    f"{SUM_TOLERANCE:g})",
    "independent": "probabilities lie between 0 and 1",
    "value": "values are finite numbers",
}
OTHERWISE = {  # how other numbers are wrapped
    "classes": f"; outputs='independent' takes {OUTPUTS['independent']}; "
    "outputs='value' takes values",
    "independent": "",
    "value": "",
}
ALONE = (
    "it is a function from texts to probabilities, with no gradients, no attention and no "
    "vectors to disturb"
)


@dataclass
class TextFunction:
    """A function from a list of n texts, strings or pairs of them, to (n, K) numbers.

    Attributes:
        predict: The function.
        labels: K names of classes, or of other outputs.
        tokenize: From a string to its words, in order and as they stand there; None takes the
            instance's own words.
        mask: The string in place of a masked word; None leaves it out.
        name: Of the function.
        outputs: What its numbers are.
        service: What asks the function.
        noise: The standard deviation of a probability when a text is asked about again.
        pieces: What stands before a word, and the word, by the id that follows from them, so that
            it is the same in any company.
    """

    predict: Callable[[list], Any]
    labels: tuple[str, ...]
    tokenize: Callable[[str], Iterable[str]] | None
    mask: str | None
    name: str
    outputs: Outputs
    family: str = "function"
    max_length: int = 1_000_000
    pad_id: int = BLANK
    score: Score = "log_probability"
    service: Service | None = None
    noise: float = 0.0
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
        ids = []
        offsets = []
        texts = []
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
        """(n, K) probabilities or values of n texts.

        Raises:
            ValueError: The function gives anything else.
        """
        found = read_columns(self.predict(texts), self.labels, self.name)
        shape = (len(texts), len(self.labels))
        if self.outputs != "classes" and found.shape == shape[:1]:
            found = found.reshape(shape)
        if found.shape != shape:
            raise ValueError(
                f"{self.name} gives numbers of shape {found.shape} for {len(texts)} texts; with "
                f"{len(self.labels)} labels ({', '.join(self.labels)}) they have shape {shape}, a "
                f"row a text and a column a label{OTHERWISE[self.outputs]}"
            )
        near = np.isfinite(found).all(axis=1)
        if self.outputs != "value":
            near &= ((found >= 0) & (found <= 1 + SUM_TOLERANCE)).all(axis=1)
        if self.outputs == "classes":
            near &= np.abs(found.sum(axis=1) - 1) <= SUM_TOLERANCE
        if not near.all():
            at = int(near.argmin())
            raise ValueError(
                f"{self.name} gives {found[at].tolist()} for the text {texts[at]!r:.80}; "
                f"{MUST[self.outputs]}{OTHERWISE[self.outputs]}"
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
        """(B, K) float64 scores; rows of the same text are asked once.

        Args:
            ids, mask, segments: (B, L), see Classifier.logits.
            precision: Has no effect.
            vectors: Refused where given.

        Raises:
            RuntimeError: The function fails, gives what are no such numbers, or may not be asked.
            ValueError: Vectors are given.
        """
        if ids is None or any(given is not None for given in vectors.values()):
            raise ValueError(ALONE)
        rows = [
            self.text_of(row[kept].tolist(), sides[kept].tolist())
            for row, sides, kept in zip(ids, segments, mask.bool(), strict=True)
        ]
        texts = list(dict.fromkeys(rows))
        try:
            found = dict(zip(texts, (self.service or self.ask)(texts), strict=True))
        except NoAnswer:
            raise
        except Exception as error:
            raise RuntimeError(
                f"{self.name}, asked about {len(texts)} texts such as {texts[-1]!r:.80}: "
                f"{type(error).__name__}: {error}"
            ) from error
        numbers = torch.from_numpy(np.stack([found[text] for text in rows]))
        if self.outputs == "value":
            return numbers
        if self.outputs == "independent":
            return numbers.logit(eps=FLOOR)
        return numbers.clamp(min=FLOOR).log()


def _try_out(service: Service) -> float:
    """The noise of a function on two texts, or on two pairs where single texts make it fail.

    Raises ValueError where it fails on both; refusals of this package are not caught.
    """
    failed: Exception | None = None
    for texts in (TEXTS, tuple(zip(TEXTS, TEXTS[::-1], strict=True))):
        try:
            return service.measure_noise(texts)
        except Exception as error:
            frames = [frame.f_globals["__name__"] for frame, _ in walk_tb(error.__traceback__)]
            if frames[-1].startswith("attreval."):
                raise
            failed = failed or error
    raise ValueError(
        f"{service.name}, asked about {list(TEXTS)}: {type(failed).__name__}: {failed}; a function "
        "takes a list of strings, or of tuples of two for pairs"
    ) from failed


def wrap_function(
    predict: Any,
    labels: Sequence[str] | Mapping | None,
    tokenize: Callable[[str], Iterable[str]] | None,
    mask: str | None,
    outputs: str | None,
    cache: str | Path | None,
    **asking: Any,
) -> TextFunction:
    """A function as a classifier, tried out on two texts; see `attreval.wrap`.

    Where labels and the estimator whose method it is (`classes_`) name the same classes, the
    estimator's order holds.

    Args:
        predict, labels, tokenize, mask, outputs, cache: See `attreval.wrap`.
        asking: `repeats` and `calls`.

    Raises:
        ValueError: It is no such function, names of classes are missing, or it is too noisy.
        NoAnswer: It fails, or `calls` are used up.
    """
    if hasattr(predict, "parameters") or not callable(predict):
        method = "; give its method predict_proba" if hasattr(predict, "predict_proba") else ""
        raise ValueError(
            "a module is wrapped with its tokenizer, an encoder of sentences with its head, and "
            "without these a function from texts to probabilities; got a "
            f"{type(predict).__name__}{method}"
        )
    check_outputs(outputs, (*OUTPUTS, "labels"))
    votes = outputs == "labels"
    read = cast(Outputs, "classes" if votes else outputs or "classes")
    single = read != "classes" and np.size(predict(list(TEXTS[:1]))) == 1
    given = estimator_names(getattr(predict, "__self__", None), labels, single)
    name = getattr(predict, "__qualname__", type(predict).__name__)
    least = 2 if read == "classes" else 1
    if len(given) < least or len(set(given)) < len(given):
        raise ValueError(
            f"{name} needs labels=, {least} or more different names in the order of its columns; "
            f"got {given}{OTHERWISE[read]}"
        )
    classes = tuple(given)
    asked = partial(count_votes, predict, classes) if votes else predict
    model = TextFunction(asked, classes, tokenize, mask, name, read)
    model.service = service = Service(model.ask, name, votes=votes, **asking)
    service.keeps = votes or cache is not None or service.repeats > 1 or service.calls < np.inf
    if cache is not None:
        said = {"labels": classes, "outputs": outputs, "repeats": service.repeats}
        service.file, service.kept = open_cache(cache, predict, said)
    model.noise = _try_out(service)
    service.keeps |= model.noise > 0
    return model
