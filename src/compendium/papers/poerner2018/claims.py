"""Claims of Poerner et al. (2018), section 5: which hold here? Each compares methods by their hits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from compendium.papers.common.claims import Claim, read_claims, score
from compendium.papers.common.contrasts import Cell, mean_difference
from compendium.papers.common.standing import standing
from compendium.papers.common.verdicts import Finding, untested
from compendium.papers.poerner2018.contrasts import (
    NOTHING,
    Column,
    MethodContrast,
    columns_of,
    contrast_methods,
    groups,
)
from compendium.papers.poerner2018.same_word import words_in_common
from compendium.papers.poerner2018.tables import FAMILY, NAMES, published_table_2
from compendium.workflow.step import Step

SAME_WORD = "lrp-is-gradient-on-cnn"


def pointing_claims(step: Step, hits: pd.DataFrame, common: Iterable[tuple] | None = None) -> pd.DataFrame:
    """One row a claim of Poerner et al. 2018 with our value, its interval, its nulls and a verdict.

    common: of `words_in_common`; read from the run where it is not given.
    """
    claims, columns = read_claims("poerner2018"), columns_of(hits)
    asked = [claim for claim in claims if claim.contrast and not claim.why_not]
    found = {claim.id: claim_value(claim, columns, step) for claim in asked}
    found[SAME_WORD] = same_word(step, words_in_common(step) if common is None else common)
    published = {claim.id: value for claim in asked if np.isfinite(value := published_value(claim))}
    return score(claims, found, step.profile.bootstrap.confidence, published)


def same_word(step: Step, common: Iterable[tuple]) -> Finding:
    """In what share of texts LRP and Gradient x Input point at the same word on the CNN, mean over its runs.

    By random scores two methods meet at one word of all; by exchanged names it is any two methods that are asked.
    """
    rows = list(common)
    pair = ("lrp", "gradient_x_input")
    cells = []
    for run in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == run]
        methods = mine[0][2]
        if not set(pair) <= set(methods):
            continue
        at = tuple(methods.index(name) for name in pair)
        shares = np.array([row[3] for row in mine])
        words = np.array([row[4] for row in mine])
        upper = np.triu_indices(len(methods), 1)
        others = shares[:, upper[0], upper[1]]  # (n, pairs of methods)
        values = np.concatenate([shares[:, at[0], at[1], None], others], axis=1)
        texts = tuple(row[1] for row in mine)
        random = partial(_by_random_scores, words=words, width=values.shape[1])
        about = (run[0], run[1], values, texts, (run[2],) * len(texts))
        cells.append(Cell(*about, lambda _, read: read[:, 0], by_scores=random))
    found = mean_difference(cells, step.profile.bootstrap)
    if found is None:
        return untested("no run of a CNN has both methods")
    basis = f"{found.cells} runs of the CNN"
    return replace(found.finding, basis=basis, **standing("poerner2018", found.tasks, found.models, step.profile))


def _by_random_scores(worlds: int, rng: np.random.Generator, words: np.ndarray, width: int) -> np.ndarray:
    """(j, n, width) whether two random words of a text are the same."""
    met = rng.random((worlds, len(words))) < 1 / words
    return np.repeat(met[..., None], width, axis=2).astype(float)


def read_contrast(claim: Claim) -> MethodContrast:
    """The contrast of a claim."""
    return MethodContrast(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in claim.contrast.items()}
    )


def claim_value(claim: Claim, columns: Sequence[Column], step: Step) -> Finding:
    """Our value of a claim that is a contrast of methods."""
    asked = read_contrast(claim)
    found = contrast_methods(columns, asked, step.profile.bootstrap)
    if found is None or np.isnan(found.finding.value):
        return untested("no task, model or method of this profile tests it")
    basis = f"{found.cells} columns"
    if asked.pick != "worst column":
        basis = f"positive in {found.positive} of {found.cells} columns"
    return replace(found.finding, basis=basis, **standing("poerner2018", found.tasks, found.models, step.profile))


@cache
def _published_columns() -> pd.DataFrame:
    """Published hits that were surely read: a row a column of Table 2, a column a method of ours."""
    cells = published_table_2()
    sure = cells[cells.confidence.isin(["H", "M"]) & cells.published.notna()]
    names = NAMES | {"random": "random", "last": "last"}
    sure = sure.assign(method=sure.method.map(lambda row: names.get(row, row)))
    keys = ["column", "experiment", "architecture", "metric", "condition"]
    return sure.pivot_table(index=keys, columns="method", values="published").reset_index()


TASK_OF = {"yelp hybrid": "hybrid_yelp", "20newsgroups hybrid": "hybrid_newsgroups"}
TASK_OF |= {"20newsgroups manual": "manual_newsgroups", "morphosyntactic agreement": "agreement_parsed"}


def published_value(claim: Claim) -> float:
    """The claim's number on the columns of Table 2 that were surely read; NaN where a method of it is in none.

    A group `all others` is decided by the table only where every method that the architecture has was read.
    """
    asked = read_contrast(claim)
    table = _published_columns()
    keep = pd.Series(True, index=table.index)
    if asked.architectures is not None:
        keep &= table.architecture.isin(asked.architectures)
    if asked.games is not None:
        keep &= table.metric.isin(asked.games)
    if asked.tasks is not None:
        keep &= table.experiment.map(TASK_OF).isin(asked.tasks)
    methods = [name for name in table.columns if name in set(NAMES.values()) | {"random", "last"}]
    found = []
    for _, row in table[keep].iterrows():
        there = [name for name in methods if pd.notna(row[name])]
        better, worse = groups(there, asked)
        wanted = asked.worse or [n for n in _methods_of(row.architecture) if n not in asked.better]
        nothing = asked.worse == NOTHING
        if len(better) < len(asked.better) or (len(worse) < len(wanted) and not nothing):
            continue
        values = row[there].astype(float).to_numpy()
        pick = np.max if asked.pick == "best" else np.mean
        found.append(pick(values[better]) - (0 if nothing else pick(values[worse])))
    decided = found and asked.pick != "worst column" and not asked.less_games
    return float(np.mean(found)) if decided else float("nan")


def _methods_of(architecture: str) -> list[str]:
    """The paper's methods that an architecture has."""
    return [name for name in NAMES.values() if FAMILY[architecture] in METHODS[name].families]
