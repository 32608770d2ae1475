"""Contradicted conclusions of Zhao & Aletras (2023), one corpus, model or rule at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from compendium.papers.common.claims import Claim, read_claims
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.turned import Turn, turned_table
from compendium.papers.common.verdicts import Finding
from compendium.papers.zhao2023.claim_statistics import STATEMENTS
from compendium.papers.zhao2023.claims import Numbers, values_by_task
from compendium.papers.zhao2023.datasets import compared_tasks
from compendium.papers.zhao2023.settings import RULES, list_settings, rule_setting
from compendium.workflow.step import Step


def turned_claims(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """One row a contradicted claim and thing turned, as `turned_table`. judged: of `claims.faithfulness_claims`."""
    made: list[tuple[str, str, Numbers | None]] = []

    def turn(claim: Claim) -> Iterator[Turn]:
        if claim.id not in STATEMENTS:
            return
        if not made:
            made.extend([*by_part(step, pairs, curves), *by_rule(step, pairs)])
        for what, how, numbers in made:
            yield Turn(what, how, _finding(numbers, claim.id))

    return turned_table(read_claims("zhao2023"), judged, turn, step.profile.bootstrap.confidence)


def by_part(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame) -> Iterator[tuple[str, str, Numbers | None]]:
    """What is turned, to what, and the statistics then: of each task and model alone."""
    main = pairs[pairs.setting == "main"]
    tasks, models = compared_tasks(list(dict.fromkeys(main.task))), list(main.model.unique())
    for column, what, names, title in (
        ("task", "corpus", tasks, task_title),
        ("model", "model", models, model_title),
    ):
        for name in names if len(names) > 1 else ():
            yield what, title(name), _numbers(step, pairs[pairs[column] == name], curves, "main", None)


def by_rule(step: Step, pairs: pd.DataFrame) -> Iterator[tuple[str, str, Numbers | None]]:
    """The same of each rule of `settings.RULES` but that of the run, where all tasks know it by one name."""
    tasks = list(dict.fromkeys(pairs.task))
    own = {list_settings(step.profile, task)["main"].protocol.ties for task in tasks}
    for rule in RULES.values():
        settings = {rule_setting(step.profile, task, rule.setting) for task in tasks}
        if len(settings) == 1 and (settings, {rule.ties}) != ({"main"}, own):
            yield "protocol", rule.title.lower(), _numbers(step, pairs, None, settings.pop(), rule.ties)


def _numbers(
    step: Step, pairs: pd.DataFrame, curves: pd.DataFrame | None, setting: str, ties: str | None
) -> Numbers | None:
    """The statistics of some pairs under a setting; None where no task has them all. ties: None as the setting says."""
    if not (pairs.setting == setting).any():
        return None
    tasks, methods = values_by_task(pairs, curves, step, (setting,))
    if ties:
        tasks = [replace(task, rules=[replace(rule, ties=ties) for rule in task.rules]) for task in tasks]
    return Numbers(tasks, methods, step) if tasks else None


def _finding(numbers: Numbers | None, claim: str) -> Finding | None:
    """A claim's number, without its nulls; None where these tasks cannot tell, as one task of a spread over tasks."""
    statement = STATEMENTS[claim]
    if numbers is None or (statement.exchanged == "tasks" and len(numbers.tasks) < 2):
        return None
    if (drawn := numbers.drawn.number(statement)) is None:
        return None
    return Finding(float(drawn[0]), drawn[1:], texts=min(len(set(task.texts)) for task in numbers.tasks))
