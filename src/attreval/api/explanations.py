"""Explanations of several texts by several methods, which can be shown, saved and added to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from attreval.api.exchange import as_rows, scores_of_methods, to_captum, to_shap, token_scores
from attreval.api.explanation import RANDOM, UNITS, Explanation, Unit
from attreval.api.show.html import fragment, page
from attreval.api.show.shown import how_many_unread
from attreval.api.vocabulary import WORD_ENDINGS, make_table, save_table
from attreval.core.records import Attribution, Tokens
from attreval.methods.attribution_files import (
    as_methods,
    read_attribution_file,
    write_attribution_file,
)
from attreval.texts.given import as_list

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("text", "method", "position", "word", "segment", "start", "end", "score")
ENDINGS = (".html", ".json", ".png", ".svg", ".jsonl", ".parquet")


class Explanations(Sequence[Explanation]):
    """Texts, each explained by the same methods; a notebook shows them in colour.

    `found[0]` is one text's `Explanation`, `found[:3]` the first three. labels: the model's
    classes, or the output that is explained.
    """

    def __init__(self, explained: Sequence[Explanation], labels: Sequence[str]):
        self._explained = list(explained)
        self.labels = tuple(labels)

    def __len__(self) -> int:
        return len(self._explained)

    @overload
    def __getitem__(self, at: int) -> Explanation: ...
    @overload
    def __getitem__(self, at: slice) -> Explanations: ...
    def __getitem__(self, at: int | slice) -> Explanation | Explanations:
        if isinstance(at, slice):
            return Explanations(self._explained[at], self.labels)
        return self._explained[at]

    def __repr__(self) -> str:
        said = f"Explanations of {len(self)} texts by {', '.join(self.methods) or 'no method'}"
        cut = [f"text {at}: {how_many_unread(one)}" for at, one in enumerate(self) if one.unread]
        more = ["..."] if len(cut) > 1 else []
        return f"<{'; '.join([said, *cut[:1], *more])}>"

    @property
    def methods(self) -> list[str]:
        """The methods that explained every text, in the order asked for; then those added."""
        if not self._explained:
            return []
        return [m for m in self._explained[0].methods if all(m in one.attributions for one in self)]

    @property
    def unit(self) -> str:
        """What scores are given of."""
        return self._explained[0].unit if self._explained else UNITS[0]

    @property
    def predicted(self) -> list[str]:
        """The class predicted of each text, or the output that is explained."""
        return [one.predicted for one in self]

    @property
    def probabilities(self) -> list[dict[str, float]]:
        """Of each text, class -> probability; of an output its probability or its value."""
        return [one.probabilities for one in self]

    @property
    def tokens(self) -> list[Tokens]:
        """Each text as the model read it."""
        return [one.tokens for one in self]

    def words(self) -> list[list[tuple[str, dict[str, float]]]]:
        """Of each text, a list of (word, {method: score}), or of what else is the unit."""
        return [one.words for one in self]

    def vocabulary(
        self, method: str | None = None, *, least: int = 5, confidence: float = 0.95
    ) -> pd.DataFrame:
        """Which words count for (above 0) and against each class explained, over all texts.

        A score is the mean over texts of a word's share of the largest size there, as colours show
        it; low and high bound it, by the bootstrap over texts.

        Args:
            method: None takes all.
            least: different texts that a word stands in, its case aside; rarer ones are left out.
            confidence: of the interval.

        Returns:
            class, method, word, texts (that it stands in), score, low, high: the best word first.
        """
        methods = self.methods if method is None else [self[0].named(method)]
        return make_table(self, methods, least, confidence)

    def save_words(self, path: str | Path, method: str | None = None, *, least: int = 5) -> Path:
        """Write `vocabulary` as .csv, or its strongest words as a .png or .svg."""
        path = Path(path)
        check_ending(path, WORD_ENDINGS)
        save_table(self.vocabulary(method, least=least), path)
        return path

    def by(self, unit: str) -> Explanations:
        """The same scores by another unit of UNITS. ValueError for others."""
        check_unit(unit)
        return Explanations([replace(one, unit=unit) for one in self], self.labels)

    def to_pandas(self) -> pd.DataFrame:
        """COLUMNS, a row a text, method and word.

        text: its place. position: the word's. start, end: characters.
        """
        import pandas as pd

        rows = []
        for at, one in enumerate(self):
            for method in one.methods:
                scores = one.scores(method).tolist()
                for position, (unit, score) in enumerate(zip(one.units, scores, strict=True)):
                    place = (position, unit.text, unit.segment, unit.start, unit.end)
                    rows.append((at, method, *place, score))
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def to_json(self) -> list[dict]:
        """Of each text a dict: what is shown, gaps of completeness, remarks, words not read."""
        return [_plain_values(one) for one in self]

    def add(self, method: str, scores: Sequence) -> Explanations:
        """Put scores that were made elsewhere beside ours, as a method of that name.

        Args:
            method: its name.
            scores: for each text one number a word (`units` of the explanation), or one a token; or
                spans of characters with a score, (start, end, score) or (segment, start, end,
                score), or dicts with these names. What no span covers scores 0; the score of a word
                is shared out over its tokens.

        Returns:
            The same object.

        Raises:
            ValueError: scores that do not fit the texts, or a name that is taken.
        """
        scores = as_list(scores, f"scores of {method!r} are a list with those of each text")
        self._check_given(method, len(scores))
        made = [
            token_scores(given, one, at)
            for at, (one, given) in enumerate(zip(self, scores, strict=True))
        ]
        return self.add_token_scores(method, made)

    def add_file(self, path: str | Path) -> Explanations:
        """Put the methods of a .jsonl or .parquet file beside ours; texts are matched by words.

        ValueError where a text has no scores in the file, or other classes were explained.
        """
        given = as_methods(read_attribution_file(path), self.labels)
        for method, scores in scores_of_methods(given, self, self.labels).items():
            self.add_token_scores(method, scores)
        return self

    def _check_given(self, method: str, texts: int) -> None:
        """ValueError for a name or a number of texts that scores made elsewhere cannot have."""
        if method == RANDOM:
            raise ValueError(
                f"{RANDOM!r} names random scores, with which methods are compared; give another "
                "name"
            )
        if texts != len(self):
            raise ValueError(
                f"{method!r} must score each of {len(self)} texts; got scores for {texts}"
            )
        if any(method in one.attributions for one in self):
            raise ValueError(
                f"there are scores of {method!r} already; give those made elsewhere another name"
            )

    def add_token_scores(self, method: str, scores: Sequence) -> Explanations:
        """`add` of (L,) scores of each text's tokens, special ones included."""
        self._check_given(method, len(scores))
        made = []
        for at, (one, given) in enumerate(zip(self, scores, strict=True)):
            content = one.tokens.content
            on_tokens = np.asarray(given, dtype=float)
            if on_tokens.shape != (len(one.tokens),) or not np.isfinite(on_tokens).all():
                raise ValueError(
                    f"{method!r} gives text {at} scores of shape {on_tokens.shape}; it has "
                    f"{len(one.tokens)} tokens, special ones included, and each has one finite "
                    "score"
                )
            added = Attribution(
                one.instance.id,
                method,
                self.labels.index(one.target),
                "token",
                tuple((t,) for t in content.tolist()),
                on_tokens[content],
                special=one.tokens.special_share(on_tokens),
            )
            attributions = one.attributions | {method: added}
            made.append(replace(one, attributions=attributions, given=one.given | {method}))
        self._explained = made
        return self

    to_captum = to_captum
    to_shap = to_shap

    def save(self, path: str | Path) -> Path:
        """Write a page, a picture or data, as the ending says (ENDINGS).

        `add_file` reads .jsonl and .parquet back.
        """
        path = Path(path)
        check_ending(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        ending = path.suffix.lower()
        if ending == ".html":
            path.write_text(page(self), encoding="utf-8")
        elif ending == ".json":
            said = json.dumps(self.to_json(), indent=1, ensure_ascii=False)
            path.write_text(said, encoding="utf-8")
        elif ending in (".jsonl", ".parquet"):
            write_attribution_file(path, as_rows(self, self.methods))
        else:
            from attreval.api.show import picture

            picture.save(self, path)
        return path

    def _repr_html_(self) -> str:
        return fragment(self)


def _plain_values(one: Explanation) -> dict:
    """An explanation for JSON."""

    def place(unit: Unit) -> dict:
        return {"word": unit.text, "segment": unit.segment, "start": unit.start, "end": unit.end}

    scored = [scores for _, scores in one.words]
    return {
        "text": one.text if isinstance(one.text, str) else list(one.text),
        "outputs": one.outputs,
        "predicted": one.predicted,
        "probabilities": one.probabilities,
        "target": one.target,
        "against": one.against,
        "unit": one.unit,
        "words": [place(u) | {"scores": s} for u, s in zip(one.units, scored, strict=True)],
        "pieces": [{"start": a, "end": b, "probabilities": p} for a, b, p in one.pieces],
        "gaps": one.gaps,
        "remarks": one.remarks,
        "dropped": [place(unit) for unit in one.unread],
        "left_out": one.left_out,
    }


def check_unit(unit: str) -> None:
    """Raise ValueError for a unit that is not known."""
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is not known; there are: {', '.join(UNITS)}")


def check_ending(path: Path, endings: Sequence[str] = ENDINGS) -> None:
    """Raise ValueError for a file that explanations, or their words, are not saved as."""
    if path.suffix.lower() not in endings:
        raise ValueError(
            f"explanations are saved as {', '.join(endings)}; {path.name!r} ends in none of them"
        )
