"""Examples of explanations on texts whose evidence is known, to be shown in colour (Poerner et al. 2018, Figs. 1-3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.alignment import overlap_shares
from attreval.core.records import Attribution, Instance
from attreval.methods import METHODS
from attreval.metrics.pointing_game import find_games
from compendium.config import Run
from compendium.corpora import TASKS
from compendium.papers.common.coloured_text import ColouredText
from compendium.papers.common.runs import common_methods, load_attributions, load_tokens
from compendium.papers.common.sample import to_explain
from compendium.papers.poerner2018.hits import affix_of, architecture_names, read_predictions
from compendium.workflow.step import Step


def shortest_example(
    step: Step,
    tasks: Sequence[str],
    architecture: str,
    methods: Sequence[str],
    predicted: str | None = None,
    least_words: int = 1,
) -> ColouredText:
    """The shortest explained text in which the methods do not all point at the same word, or the shortest of all.

    Of the first of the tasks that the profile has, the model of the architecture (the first where there is none), and
    those of the methods that have explained it. predicted: the label that it must have. Without words where the
    profile has none of the tasks.
    """
    runs = [run for run in step.profile.explained_runs("pointing") if run[0] in tasks]
    chosen = [run for run in runs if step.profile.models[run[1]].architecture == architecture] or runs
    found = _candidates(step, chosen[0], methods, predicted, least_words) if chosen else []
    if not found:
        return ColouredText((), {}, np.zeros(0, bool), model="no model of this profile", predicted="nothing")
    task, model, _ = chosen[0]
    one = min(found, key=lambda candidate: candidate.order)
    covered = one.shares.any(axis=0)
    rows = {
        METHODS[method].title: (one.shares.T @ record.on_tokens(len(one.shares)))[covered]
        for method, record in one.records.items()
    }
    words = tuple(word for word, read in zip(one.instance.word_texts(), covered, strict=True) if read)
    label = TASKS[task].labels[one.predicted]
    after = f"{label} verb" if one.instance.evidence.tags else ""
    return ColouredText(words, rows, one.evidence[covered], after, architecture_names(step.profile, task)[model], label)


def example_table(examples: dict[str, ColouredText]) -> pd.DataFrame:
    """One row an example: its name, the model that read it, and the label that it predicts."""
    rows = [(name, example.model, example.predicted) for name, example in examples.items()]
    return pd.DataFrame(rows, columns=["example", "model", "predicted"])


@dataclass(frozen=True)
class _Candidate:
    """An explained text with evidence for its predicted class. shares: (L, W), see overlap_shares. order: the smaller,
    the better to be shown."""

    instance: Instance
    predicted: int
    shares: np.ndarray
    evidence: np.ndarray
    records: dict[str, Attribution]
    order: tuple[bool, int, str]


def _candidates(step: Step, run: Run, methods: Sequence[str], label: str | None, least_words: int) -> list[_Candidate]:
    """The explained texts of a run that can be shown."""
    profile, out = step.profile, []
    task, model, seed = run
    records, tokens = load_attributions(step.results, profile, *run), load_tokens(step.results, profile, *run)
    shown = [method for method in methods if method in common_methods(records)]
    predictions = read_predictions(step)
    for instance in to_explain(profile, task, model):
        predicted = int(predictions[task, model, seed, instance.id])
        if len(instance.words) < least_words or label not in (None, TASKS[task].labels[predicted]):
            continue
        shares = overlap_shares(tokens[instance.id].offsets, instance.words)
        game = find_games(instance, predicted, shares.any(axis=0), affix_of(profile.pointing, task))[0]
        if game.discarded:
            continue
        chosen = {method: records[instance.id][method] for method in shown}
        tops = {record.features[int(record.scores.argmax())] for record in chosen.values()}
        order = (len(tops) < 2, len(instance.words), instance.id)
        out.append(_Candidate(instance, predicted, shares, game.evidence, chosen, order))
    return out
