"""Instances as they are trained on besides: cut to their last words, or to what people marked and what is around it."""

from __future__ import annotations

import numpy as np

from attreval.core.records import Instance
from compendium.config.sections import AlsoTrain


def shortened(instance: Instance, more: AlsoTrain) -> list[Instance]:
    """What a profile makes of an instance: no copy of one that nobody marked, where marks are asked for."""
    if more.last_words is not None:
        return [last_words(instance, more.last_words)]
    return [around_marks(instance, words) for words in more.around_marks] if instance.evidence.marks.any() else []


def last_words(instance: Instance, words: int) -> Instance:
    """The last words of an instance of one segment."""
    kept = instance.words[-words:]
    start = int(kept[0][1])
    return Instance(
        instance.id, (instance.segments[0][start:],), instance.label, kept - [0, start, start], instance.split
    )


def around_marks(instance: Instance, words: int) -> Instance:
    """The words of an instance that anybody marked, and so many on either side of each; other segments stay whole.

    What is left out between two words leaves a space. Where only other segments are marked, the first keeps its start.
    """
    here = instance.words[:, 0] == 0
    marked = np.flatnonzero((instance.evidence.marks > 0).any(axis=0) & here)
    near = np.abs(np.arange(len(here))[:, None] - (marked if len(marked) else [0])).min(axis=1) <= words
    text, places, last = "", [], None
    for at in np.flatnonzero(near & here):
        start, end = map(int, instance.words[at, 1:])
        if last is not None:
            text += instance.segments[0][last:start] if at and near[at - 1] else " "
        places.append((0, len(text), len(text) + end - start))
        text, last = text + instance.segments[0][start:end], end
    kept = np.concatenate([np.array(places), instance.words[~here]])
    return Instance(instance.id, (text, *instance.segments[1:]), instance.label, kept, instance.split)
