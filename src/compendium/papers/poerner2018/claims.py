"""Claims of Poerner et al. (2018), section 5: which hold here? Each compares methods by their hits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from compendium.config.contradictions import FAMILY
from compendium.papers.common.claims import Claim, read_claims, score
from compendium.papers.common.runs import drop_unlearned, unlearned_table
from compendium.papers.common.turned import Turn, each_alone, quick_draws, turned_table
from compendium.papers.common.verdicts import Expectation, Finding, untested
from compendium.papers.poerner2018.contrasts import (
    NOTHING,
    Column,
    MethodContrast,
    columns_asked,
    columns_of,
    contrast_methods,
    groups,
)
from compendium.papers.poerner2018.same_word import same_word, words_in_common
from compendium.papers.poerner2018.tables import NAMES, published_table_2
from compendium.workflow.step import Step

SAME_WORD = "lrp-is-gradient-on-cnn"
TASK_OF = {"yelp hybrid": "hybrid_yelp", "20newsgroups hybrid": "hybrid_newsgroups"}
TASK_OF |= {"20newsgroups manual": "manual_newsgroups", "morphosyntactic agreement": "agreement_parsed"}
GAMES = {"hybrid": "hybrid documents", "manual": "the manual benchmark"}
GAMES |= {"hit_target": "the subject", "hit_feat": "a word of the subject's number"}


def pointing_claims(step: Step, hits: pd.DataFrame, common: Iterable[tuple] | None = None) -> pd.DataFrame:
    """One row per claim of Poerner et al. (2018) with our value, its interval, its nulls and a verdict.

    common: from `words_in_common`, which reads it from the run where it is not given.
    """
    learned = drop_unlearned(hits, unlearned_table(step, step.profile.explained_runs("pointing")))
    claims, columns = read_claims("poerner2018"), columns_of(learned)
    asked = [claim for claim in claims if claim.contrast and not claim.why_not]
    found = {claim.id: claim_value(claim, columns, step) for claim in asked}
    found[SAME_WORD] = same_word(step, words_in_common(step) if common is None else common)
    published = {claim.id: value for claim in asked if np.isfinite(value := published_value(claim))}
    return score(claims, found, step.profile.bootstrap.confidence, published)


def claim_value(claim: Claim, columns: Sequence[Column], step: Step) -> Finding:
    """Our value of a claim that is a contrast of methods."""
    asked = claim.ask(MethodContrast)
    found = contrast_methods(columns, asked, step.profile.bootstrap)
    if found is None or np.isnan(found.finding.value):
        return untested("no task, model or method of this profile tests it")
    positive = "" if asked.pick == "worst column" else f"positive in {found.positive} of "
    return found.finding_for("poerner2018", step.profile, f"{positive}{found.cells} columns")


@cache
def _published_columns() -> pd.DataFrame:
    """Published hits that could be read with confidence: a row per column of Table 2, a column per method of ours."""
    cells = published_table_2()
    sure = cells[cells.confidence.isin(["H", "M"]) & cells.published.notna()]
    names = NAMES | {"random": "random", "last": "last"}
    sure = sure.assign(method=sure.method.map(lambda row: names.get(row, row)))
    keys = ["column", "experiment", "architecture", "metric", "condition"]
    table = sure.pivot_table(index=keys, columns="method", values="published").reset_index()
    return table.assign(task=table.experiment.map(TASK_OF))


def published_value(claim: Claim) -> float:
    """The claim's number from Table 2, where it could be read with confidence; NaN where the table does not decide it.

    A claim on all other methods counts only columns in which every method that applies to the architecture was read.
    """
    asked, found = claim.ask(MethodContrast), []
    known = [name for name in _published_columns().columns if name in {*NAMES.values(), "random", "last"}]
    for row in columns_asked(_published_columns().itertuples(), replace(asked, less_games=())):
        there = [name for name in known if pd.notna(getattr(row, name))]
        better, worse = groups(there, asked)
        of_others = [n for n in NAMES.values() if FAMILY[row.architecture.lower()] in METHODS[n].families]
        wanted = asked.worse or [n for n in of_others if n not in asked.better]
        nothing = asked.worse == NOTHING
        if len(better) < len(asked.better) or (len(worse) < len(wanted) and not nothing):
            continue
        values = np.array([getattr(row, name) for name in there])
        pick = np.max if asked.pick == "best" else np.mean
        found.append(pick(values[better]) - (0 if nothing else pick(values[worse])))
    decided = found and asked.pick != "worst column" and not asked.less_games
    return float(np.mean(found)) if decided else float("nan")


def turned_claims(step: Step, hits: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """One row per contradicted claim and thing turned, see `turned_table`. judged: from `pointing_claims`."""
    columns, settings = columns_of(hits), quick_draws(step.profile.bootstrap)

    def number(asked: MethodContrast, some: Sequence[Column]) -> Finding | None:
        found = contrast_methods(some, asked, settings)
        return found and found.finding

    def turn(claim: Claim) -> Iterator[Turn]:
        if claim.contrast:
            yield from turns(claim, columns, number)

    return turned_table(read_claims("poerner2018"), judged, turn, step.profile.bootstrap.confidence)


def turns(claim: Claim, columns: Sequence[Column], number) -> Iterator[Turn]:
    """A contrast on each task, architecture and game alone; and by the mean lead in place of the worst column."""
    asked = claim.ask(MethodContrast)
    chosen = columns_asked(columns, asked)
    rows = pd.DataFrame({name: [getattr(c, name) for c in chosen] for name in ("task", "architecture", "metric")})
    rows = rows.assign(metric=rows.metric.map(lambda game: GAMES.get(game, game)), column=chosen)
    turned = {"task": "corpus", "architecture": "model"} | ({} if asked.less_games else {"metric": "metric"})
    for what, how, part in each_alone(rows, turned):
        named = replace(asked, tasks=tuple(part.task)) if what == "corpus" else asked  # those chosen for attractors too
        yield Turn(what, how, number(named, list(part.column)))
    if asked.pick == "worst column":
        expect = Expectation(above=0) if claim.expect.below is None else Expectation(below=0)
        how = "mean lead over the others, all columns"
        yield Turn("metric", how, number(replace(asked, pick="mean"), columns), expect)
