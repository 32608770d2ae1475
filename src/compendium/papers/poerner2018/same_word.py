"""Do two methods point at the same word? Equal hits do not tell: LRP and gradient x input could hit different words.

Section 3.2 of Poerner et al. (2018) shows that LRP is gradient x input where activations are linear. Letters used for
shapes: W words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from attreval.core.alignment import overlap_shares
from attreval.core.bootstrap import bootstrap_mean
from attreval.core.records import Attribution, Instance, Tokens
from attreval.metrics.pointing_game import BASELINES
from compendium.config import Run
from compendium.papers.common.contrasts import Cell, exchange_names, mean_difference
from compendium.papers.common.runs import RUN, common_methods, load_attributions, load_tokens, to_explain
from compendium.papers.common.verdicts import Finding, untested
from compendium.papers.poerner2018.hits import architecture_names
from compendium.workflow.step import Step

PAIR = ("lrp", "gradient_x_input")


def pointed_words(instance: Instance, tokens: Tokens, record: Attribution) -> np.ndarray:
    """(W,) the probability that each word the model reads is pointed at: equal highest words share it.

    A word's score is the sum of its tokens', as in metrics.pointing_game.play.
    """
    shares = overlap_shares(tokens.offsets, instance.words)
    covered = shares.any(axis=0)
    scores = (shares.T @ record.on_tokens(len(tokens)))[covered]
    highest = scores == scores.max()
    return highest / highest.sum()


def words_in_common(step: Step) -> Iterator[tuple[Run, str, list[str], np.ndarray, int]]:
    """Run, instance, methods, (m, m) chances that two of them point at the same word, and number of words, per text.

    Of the runs of the CNN. Each method breaks its ties by itself.
    """
    for run in step.profile.explained_runs("pointing"):
        task, model, _ = run
        if architecture_names(step.profile, task)[model] != "CNN":
            continue
        records = load_attributions(step.results, step.profile, *run)
        tokens = load_tokens(step.results, step.profile, *run)
        methods = [name for name in common_methods(records) if name not in BASELINES]
        for instance in to_explain(step.profile, task, model):
            found = [pointed_words(instance, tokens[instance.id], records[instance.id][m]) for m in methods]
            shares = np.array(found).reshape(len(methods), -1)
            yield run, instance.id, methods, shares @ shares.T, shares.shape[1]


def same_word_share(step: Step, first: str = PAIR[0], second: str = PAIR[1]) -> pd.DataFrame:
    """One row per run of the CNN that has both methods: the share of texts in which they point at the same word.

    Columns task, model, seed, share, low, high (percentile bootstrap over texts), instances.
    """
    bootstrap, of_run, rows = step.profile.bootstrap, {}, []
    for run, _, methods, common, _ in words_in_common(step):
        if first in methods and second in methods:
            of_run.setdefault(run, []).append(float(common[methods.index(first), methods.index(second)]))
    for run, same in of_run.items():
        found = bootstrap_mean(np.array(same), bootstrap.draws, bootstrap.confidence, "same word", *run)
        rows.append((*run, *map(float, found), len(same)))
    return pd.DataFrame(rows, columns=[*RUN, "share", "low", "high", "instances"])


def same_word(step: Step, common: Iterable[tuple]) -> Finding:
    """In what share of texts LRP and Gradient x Input point at the same word on the CNN, mean over its runs.

    By random scores two methods meet at one word of all; by exchanged names it is any two methods that are asked.
    common: of `words_in_common`.
    """
    rows, cells = list(common), []
    for run in dict.fromkeys(row[0] for row in rows):
        _, texts, of_run, shares, words = zip(*(row for row in rows if row[0] == run), strict=True)
        methods = of_run[0]
        if not set(PAIR) <= set(methods):
            continue
        first, second = (methods.index(name) for name in PAIR)
        upper, shares = np.triu_indices(len(methods), 1), np.array(shares)
        values = np.column_stack([shares[:, first, second], shares[:, *upper]])  # (n, 1 + pairs of methods)
        by_scores = partial(_by_random_scores, words=np.array(words), width=values.shape[1])
        about = (run[0], run[1], values, texts, (run[2],) * len(texts), lambda _, read: read[:, 0])
        cells.append(Cell(*about, by_scores=by_scores, by_names=partial(exchange_names, values)))
    found = mean_difference(cells, step.profile.bootstrap)
    if found is None:
        return untested("no run of a CNN has both methods")
    return found.finding_for("poerner2018", step.profile, f"{found.cells} runs of the CNN")


def _by_random_scores(worlds: int, rng: np.random.Generator, words: np.ndarray, width: int) -> np.ndarray:
    """(j, n, width) whether two random words of a text are the same."""
    met = rng.random((worlds, len(words))) < 1 / words
    return np.repeat(met[..., None], width, axis=2).astype(float)
