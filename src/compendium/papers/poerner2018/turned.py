"""Contradicted conclusions of Poerner et al. (2018), one corpus, architecture, game or reading at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from compendium.papers.common.claims import Claim, read_claims
from compendium.papers.common.style import task_title
from compendium.papers.common.turned import Turn, quick_draws, turned_table
from compendium.papers.common.verdicts import Expectation, Finding
from compendium.papers.poerner2018.claims import read_contrast
from compendium.papers.poerner2018.contrasts import Column, MethodContrast, columns_of, contrast_methods
from compendium.workflow.step import Step

GAMES = {"hybrid": "hybrid documents", "manual": "the manual benchmark"}
GAMES |= {"hit_target": "the subject", "hit_feat": "a word of the subject's number"}


def turned_claims(step: Step, hits: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """One row a contradicted claim and thing turned, as `turned_table`. judged: of `claims.pointing_claims`."""
    columns, settings = columns_of(hits), quick_draws(step.profile.bootstrap)

    def number(asked: MethodContrast) -> Finding | None:
        found = contrast_methods(columns, asked, settings)
        return found and found.finding

    def turn(claim: Claim) -> Iterator[Turn]:
        if claim.contrast:
            yield from turns(read_contrast(claim), claim, columns, number)

    return turned_table(read_claims("poerner2018"), judged, turn, step.profile.bootstrap.confidence)


def turns(asked: MethodContrast, claim: Claim, columns: Sequence[Column], number) -> Iterator[Turn]:
    """Each task, architecture and game that a contrast is of, alone; and the mean lead in place of the worst column."""
    of = {
        name: list(dict.fromkeys(getattr(column, field) for column in columns))
        for name, field in (("tasks", "task"), ("architectures", "architecture"), ("games", "metric"))
    }
    asked_of = {name: [one for one in of[name] if one in (getattr(asked, name) or of[name])] for name in of}
    if asked.less_games:  # a difference of games
        asked_of["games"] = []
    for name, what in (("tasks", "corpus"), ("architectures", "model"), ("games", "metric")):
        for one in asked_of[name] if len(asked_of[name]) > 1 else ():
            how = {"tasks": task_title(one), "games": GAMES.get(one, one)}.get(name, one)
            yield Turn(what, how, number(replace(asked, **{name: (one,)})))
    if asked.pick == "worst column":
        better = claim.expect.below is None
        expect = Expectation(above=0) if better else Expectation(below=0)
        yield Turn("metric", "mean lead over the others, all columns", number(replace(asked, pick="mean")), expect)
