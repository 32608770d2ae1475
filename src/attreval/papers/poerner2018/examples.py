"""What does an explanation look like on a text whose evidence is known? Texts to be shown in colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attreval.core.alignment import overlap_shares
from attreval.core.records import Attribution, Instance
from attreval.corpora import TASKS
from attreval.explain import METHODS
from attreval.metrics.pointing_game import find_games
from attreval.papers.common.runs import common_methods, load_attributions, load_tokens
from attreval.papers.common.sample import to_explain
from attreval.papers.poerner2018.hits import AGREEMENT, BLOCKS, architectures, read_predictions
from attreval.workflow.step import Step


@dataclass(frozen=True)
class Example:
    """One text to be shown in colour: its words, the scores of the words by method title, which words are evidence,
    and what follows the text. `parts` is what the drawing functions take."""

    words: tuple[str, ...]
    rows: dict[str, np.ndarray]
    evidence: np.ndarray
    after: str = ""

    @property
    def parts(self) -> tuple:
        """words, rows, evidence, after."""
        return self.words, self.rows, self.evidence, self.after


def show_hybrid(step: Step, kind: str, architecture: str, methods: list[str]) -> Example:
    """A hybrid document of `topics` or `sentiment`, see `show`."""
    return show(step, kind, BLOCKS[kind].tasks, architecture, methods)


def show_agreement(step: Step, architecture: str, methods: list[str], predicted: str) -> Example:
    """The words before a verb that is predicted to be `singular` or `plural`, see `show`; five of them or more."""
    return show(step, predicted, AGREEMENT, architecture, methods, predicted, 5)


def show(
    step: Step,
    name: str,
    tasks: tuple[str, ...],
    architecture: str,
    methods: list[str],
    predicted: str | None = None,
    least_words: int = 1,
) -> Example:
    """The shortest explained text in which the methods do not all point at the same word, or the shortest of all.

    The first of the tasks that the profile has, the model of the architecture (the first where there is none), and
    those of the methods that have explained it; with no such task, an example without words. Numbers say what it is.
    """
    profile = step.profile
    runs = [run for run in profile.explained_runs("pointing") if run[0] in tasks]
    chosen = [run for run in runs if profile.models[run[1]].architecture == architecture] or runs
    texts = find_texts(step, *chosen[0], methods, predicted, least_words) if chosen else []
    key = f"pointing.example.{name}"
    if not texts:
        step.number(f"{key}.model", "no model of this profile")
        step.number(f"{key}.predicted", "nothing")
        return Example((), {}, np.zeros(0, bool))
    task, model, _ = chosen[0]
    found = min(texts, key=lambda text: text.order)
    instance, said, shares = found.instance, found.predicted, found.shares
    labels = TASKS[task].labels
    step.number(f"{key}.model", architectures(profile, task)[model])
    step.number(f"{key}.predicted", labels[said])
    covered = shares.any(axis=0)
    rows = {
        METHODS[method].title: (shares.T @ record.on_tokens(len(shares)))[covered]
        for method, record in found.records.items()
    }
    words = tuple(word for word, read in zip(instance.word_texts(), covered, strict=True) if read)
    return Example(words, rows, found.evidence[covered], f"{labels[said]} verb" if instance.evidence.tags else "")


@dataclass(frozen=True)
class Text:
    """An explained text with evidence for its predicted class. shares: (L, W), see overlap_shares. order: the smaller,
    the better to be shown."""

    instance: Instance
    predicted: int
    shares: np.ndarray
    evidence: np.ndarray
    records: dict[str, Attribution]
    order: tuple[bool, int, str]


def find_texts(
    step: Step, task: str, model: str, seed: int, methods: list[str], predicted: str | None, least_words: int
) -> list[Text]:
    """The explained texts that can be shown."""
    profile, out = step.profile, []
    records = load_attributions(step.results, profile, task, model, seed)
    shown = [method for method in methods if method in common_methods(records)]
    tokens, predictions = load_tokens(step.results, profile, task, model, seed), read_predictions(step)
    for instance in to_explain(profile, task, model):
        said = int(predictions[task, model, seed, instance.id])
        if len(instance.words) < least_words or predicted not in (None, TASKS[task].labels[said]):
            continue
        shares = overlap_shares(tokens[instance.id].offsets, instance.words)
        game = find_games(instance, said, shares.any(axis=0), profile.pointing.affix)[0]
        if game.discarded:
            continue
        chosen = {method: records[instance.id][method] for method in shown}
        tops = {record.features[int(record.scores.argmax())] for record in chosen.values()}
        order = (len(tops) < 2, len(instance.words), instance.id)
        out.append(Text(instance, said, shares, game.evidence, chosen, order))
    return out
