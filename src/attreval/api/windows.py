"""A text longer than the model reads, explained piece by piece.

Each piece is explained by itself, all for one class. The model never sees the whole text, so what
it says of the pieces is kept beside their scores.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from attreval.api.explanation import Explanation
from attreval.api.explanations import Explanations
from attreval.core.alignment import place_tokens
from attreval.core.records import Attribution, Cost
from attreval.core.units import SENTENCE
from attreval.methods.run import predict
from attreval.models.classifier import Classifier
from attreval.models.outputs import outputs_of
from attreval.models.scorer import Scorer
from attreval.texts.given import Text, as_text, make_instances


def find_pieces(model: Classifier, text: str) -> list[tuple[int, int]]:
    """Start and end of pieces that the model reads whole, as long as can be.

    They end with a sentence, or with a word where a sentence is too long.
    """

    def fits(start: int, end: int) -> bool:
        (piece,) = make_instances([(text[start:end],)], model)
        try:
            read = model.tokens(piece)
        except ValueError:  # it holds no token
            return True
        last = int(read.offsets[:, 2].max())
        return len(read) < model.max_length or last >= piece.words[-1, 2]

    pieces: list[tuple[int, int]] = []
    for sentence in SENTENCE.finditer(text):
        start, end = sentence.span()
        ends = [end]
        if not fits(start, end):
            (made,) = make_instances([(sentence.group(),)], model)
            ends = (start + made.words[:, 2]).tolist()
        for end in ends:
            if pieces and fits(pieces[-1][0], end):
                start, _ = pieces.pop()
            pieces.append((start, end))
            start = end
    return pieces


def explain_windows(
    ask: Callable[..., Explanations],
    model: Classifier,
    texts: Sequence[tuple[str, ...]],
    goals: Sequence[int | None],
) -> Explanations:
    """Explanations of texts of any length; pairs are not cut.

    Args:
        ask: `explain` of texts and their `target`s.
        model: that is asked.
        texts: the texts.
        goals: the class to explain of each; None takes the most probable one, by the mean over the
            pieces of a text.
    """
    places = [find_pieces(model, parts[0]) if len(parts) == 1 else [] for parts in texts]
    asked = []
    targets = []
    for parts, own, goal in zip(texts, places, goals, strict=True):
        pieces: list[Text] = [parts[0][start:end] for start, end in own]
        if len(own) < 2:
            pieces = [as_text(parts)]
        elif goal is None:
            read = make_instances([(str(piece),) for piece in pieces], model)
            found = predict(Scorer(model), [model.tokens(one) for one in read])
            goal = int(found.mean(axis=0).argmax())
        asked += pieces
        targets += [goal] * len(pieces)
    of_classes = outputs_of(model) == "classes"
    made = iter(ask(asked, target=targets if of_classes else None))
    explained = []
    for parts, own in zip(texts, places, strict=True):
        some = list(islice(made, max(1, len(own))))
        explained.append(some[0] if len(some) == 1 else _join(model, parts[0], own, some))
    return Explanations(explained, model.labels)


def _join(
    model: Classifier, text: str, places: list[tuple[int, int]], parts: list[Explanation]
) -> Explanation:
    """One explanation of a text from those of its pieces; probabilities are means over them."""
    (instance,) = make_instances([(text,)], model)
    read = [one.tokens for one in parts]
    moved = [
        one.offsets + ~one.special[:, None] * [0, start, start]
        for one, (start, _) in zip(read, places, strict=True)
    ]
    tokens = place_tokens(
        instance,
        np.concatenate([one.ids for one in read]).tolist(),
        np.concatenate([one.segments for one in read]).tolist(),
        np.concatenate(moved),
        [shown for one in read for shown in one.texts],
        (read[0].pad_id, read[0].mask_id),
        read[0].unknown_id,
    )
    firsts = np.cumsum([0, *map(len, read)]).tolist()
    given = [one.probabilities for one in parts]
    means = {label: float(np.mean([one[label] for one in given])) for label in model.labels}
    return replace(
        parts[0],
        instance=instance,
        tokens=tokens,
        predicted=max(means, key=means.__getitem__),
        probabilities=means,
        attributions={
            method: _join_scores([one.attributions[method] for one in parts], firsts, instance.id)
            for method in Explanations(parts, model.labels).methods
        },
        left_out={method: why for one in parts for method, why in one.left_out.items()},
        pieces=tuple((*place, one) for place, one in zip(places, given, strict=True)),
    )


def _join_scores(each: list[Attribution], firsts: list[int], name: str) -> Attribution:
    """The scores of pieces, one behind the other. firsts: where the tokens of each begin."""
    features = [
        tuple(first + token for token in feature)
        for one, first in zip(each, firsts, strict=False)
        for feature in one.features
    ]

    def mean(field: str) -> float:
        return float(np.mean([getattr(one, field) for one in each]))

    return replace(
        each[0],
        instance=name,
        features=tuple(features),
        scores=np.concatenate([one.scores for one in each]),
        gap=mean("gap"),
        reliability=mean("reliability"),
        special=mean("special"),
        cost=sum((one.cost for one in each), Cost()),
        note="; ".join(dict.fromkeys(one.note for one in each if one.note)),
    )
