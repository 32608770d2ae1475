"""Do two methods point at the same word? Equal hits do not say it: LRP and gradient x input could hit by other words.

Section 3.2 of Poerner et al. (2018) shows that LRP is gradient x input where activations are linear. Letters used for
shapes: W words.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.core.alignment import overlap_shares
from attreval.core.bootstrap import bootstrap_mean
from attreval.core.records import Attribution, Instance, Tokens
from attreval.papers.common.runs import load_attributions, load_tokens
from attreval.papers.common.sample import to_explain
from attreval.papers.poerner2018.hits import architecture_names
from attreval.workflow.step import Step

RUN = ["task", "model", "seed"]


def pointed_words(instance: Instance, tokens: Tokens, record: Attribution) -> np.ndarray:
    """(W,) with what probability each word that the model reads is pointed at: equal highest ones equally often.

    A word's score is the sum of its tokens', as in metrics.pointing_game.play.
    """
    shares = overlap_shares(tokens.offsets, instance.words)
    covered = shares.any(axis=0)
    scores = (shares.T @ record.on_tokens(len(tokens)))[covered]
    highest = scores == scores.max()
    return highest / highest.sum()


def same_words(
    step: Step, first: str = "lrp", second: str = "gradient_x_input", architecture: str = "CNN"
) -> pd.DataFrame:
    """One row an explained text of each run of an architecture: with what probability both point at the same word.

    Columns task, model, seed, instance, same. No rows where no run has both methods. Each breaks its ties by itself.
    """
    rows = []
    for run in step.profile.explained_runs("pointing"):
        task, model, _ = run
        if architecture_names(step.profile, task)[model] != architecture:
            continue
        records = load_attributions(step.results, step.profile, *run)
        tokens = load_tokens(step.results, step.profile, *run)
        for instance in to_explain(step.profile, task, model):
            found = records[instance.id]
            if first in found and second in found:
                a, b = (pointed_words(instance, tokens[instance.id], found[name]) for name in (first, second))
                rows.append((*run, instance.id, float(a @ b)))
    return pd.DataFrame(rows, columns=[*RUN, "instance", "same"])


def same_word_share(
    step: Step, first: str = "lrp", second: str = "gradient_x_input", architecture: str = "CNN"
) -> pd.DataFrame:
    """One row a task and run of an architecture: the share of texts in which two methods point at the same word.

    Columns task, model, seed, share, low, high (percentile bootstrap over texts), instances. See same_words.
    """
    bootstrap, rows = step.profile.bootstrap, []
    for run, part in same_words(step, first, second, architecture).groupby(RUN, sort=False):
        found = bootstrap_mean(part.same.to_numpy(), bootstrap.draws, bootstrap.confidence, "same word", *run)
        rows.append((*run, *map(float, found), len(part)))
    return pd.DataFrame(rows, columns=[*RUN, "share", "low", "high", "instances"])
