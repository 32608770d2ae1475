"""What do the faithfulness measures say of each explanation, by the main protocol and by each of its changes?

Every instance is one conversation with the ledger: what two methods, measures or protocols have in common is computed
once. The main protocol sees every explained instance, its changes only the first of a task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attreval.config import Profile
from attreval.core.project import Results
from attreval.core.records import Tokens
from attreval.core.seeds import generator
from attreval.corpora import TASKS
from attreval.explain import METHODS
from attreval.explain.method import Budget
from attreval.metrics.erasure import Erasure, erase
from attreval.metrics.protocol import OURS, RELEASED, SCALE, Change, Protocol, lay_out
from attreval.metrics.soft_erasure import SoftProbabilities, SoftValues, soft_erase, soft_values
from attreval.papers.common.runs import budget_of, common_methods, load_model_once, load_records_once
from attreval.papers.common.sample import to_explain
from attreval.workflow.parallel import map_side_by_side
from attreval.workflow.step import Step, set_threads

TOGETHER = 5  # instances that share batches
MEASURES = ("comprehensiveness", "sufficiency", "normalised_comprehensiveness", "normalised_sufficiency")
RUN = ["task", "model", "seed"]


@dataclass(frozen=True)
class Case:
    """One attribution under one protocol. role: `own` scores, or those `permuted` that are the rival of the method.

    tied: what the order of equal scores derives from. calls: numbers computed before on this text, for the drift.
    """

    setting: str
    method: str
    role: str
    scores: np.ndarray
    protocol: Protocol
    names: tuple
    soft: bool = True
    calls: int = 0


@dataclass(frozen=True)
class Measured:
    """curves: one row an instance, method and ratio, by the main protocol, with the four hard measures.

    values: one row a setting, instance, method and role: NC and NS over all ratios, Soft-NC and Soft-NS, their standard
    deviations over draws, the mean keep rate.
    """

    curves: pd.DataFrame
    values: pd.DataFrame


def main_protocol(profile: Profile, task: str) -> Protocol:
    """The protocol of a task, as the profile says."""
    spec = profile.faithfulness_of(task)
    return Protocol(ratios=tuple(spec.ratios), draws=spec.draws)


def list_changes(profile: Profile, task: str, at: int | None = None) -> dict[str, Change]:
    """Every change that is measured on a task's instance number `at`, or on any of them where that is None.

    The scale of scores, the released code, other choices, the paper's alternatives; `control` is what they are
    compared with.
    """
    spec = profile.faithfulness_of(task)
    control, at = {"control": Change("as in the main run")}, -1 if at is None else at
    scale = control | SCALE if at < spec.scale_rows else {}
    if at >= spec.control_rows:
        return scale
    noises = {
        f"{kind}_{variance:g}": Change(f"{title} {variance:g}", {"soft": kind, "variance": variance})
        for kind, title, variances in (
            ("noise", "noise scaled by the score, variance", spec.noise_variances),
            ("variance", "noise of variance up to", (1.0,)),
        )
        for variance in variances
    }
    alternatives = noises | {"attend": Change("soft attention mask", {"soft": "attend"})}
    query = query_of(task) is not None
    draws = {"draws": Change(f"{spec.draws} random masks, not {spec.control_draws}", {"draws": spec.draws})}
    found = control | RELEASED | OURS | draws | alternatives | scale
    return {name: change for name, change in found.items() if query or not change.queries_only}


def query_of(task: str) -> int | None:
    """Which segment of a task is asked about the other, if one is: it is never erased."""
    task = TASKS[task]
    return task.segments.index("query") if "query" in task.segments else None


def measure_all(step: Step) -> Measured:
    """Every explained instance before the faithfulness judge."""
    profile = step.profile
    jobs = [
        (step.results, profile, *run, start)
        for run in profile.explained_runs("faithfulness")
        for start in range(0, profile.rows_explained(*run[:2]), TOGETHER)
    ]
    # the longest texts first: no process is left alone with them at the end
    order = sorted(range(len(jobs)), key=lambda j: -profile.models[jobs[j][3]].max_length)
    show = step.progress(f"erasing, {TOGETHER} instances a part")
    found = map_side_by_side(measure_some, [jobs[j] for j in order], profile.workers, show)
    parts = [part for _, part in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]
    step.note_evaluations((job[2], spent) for job, (_, _, spent) in zip(jobs, parts, strict=True))
    curves, values = (pd.concat([part[i] for part in parts], ignore_index=True) for i in (0, 1))
    return Measured(curves, values)


def measure_some(results: Results, profile: Profile, task: str, model: str, seed: int, start: int):
    """(curves, values, costs by account) of the instances from `start`; see Measured."""
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    text = profile.model_dump_json()
    scorer = Scorer(load_model_once(results, task, model, seed, text), profile.explain.token_budget)
    records = load_records_once(results, task, model, seed, text)
    spec, query = profile.faithfulness_of(task), query_of(task)
    part = to_explain(profile, task, model)[start : start + TOGETHER]
    curves, values = [], []
    for at, instance in enumerate(part, start):
        tokens = scorer.model.tokens(instance)
        names = (task, model, seed, instance.id)
        known = {m: records[instance.id][m].scores for m in common_methods(records)}
        known.setdefault("random", random_scores(tokens, *names))
        soft = pick_soft(spec.methods, list(known))
        main = main_protocol(profile, task)
        cases = [Case("main", m, "own", known[m], main, (*names, m), m in soft) for m in known]
        if changes := list_changes(profile, task, at):
            main = replace(main, draws=spec.control_draws)
            budget = budget_of(profile.explaining_of(task))
            target = next(iter(records[instance.id].values())).target
            for setting, change in changes.items():
                changed, chosen = change.apply(main), {m: known[m] for m in soft}
                scores = change_scores(scorer, tokens, target, budget, chosen, change, names, changed, query)
                cases += change_cases(setting, change, scores, changed, names)
        talks = ((account_of(case), judge(tokens, case, query)) for case in cases)
        for case, (hard, softened) in zip(cases, scorer.converse(talks), strict=True):
            if case.setting == "main":
                curves += [
                    (*names, case.method, ratio, *(getattr(hard, name)[i] for name in MEASURES))
                    for i, ratio in enumerate(hard.ratios)
                ]
            values.append((case.setting, *names, case.method, case.role, *sum_up(hard, softened)))
        scorer.forget()
    summed = ["nc", "ns", "soft_nc", "soft_ns", "soft_nc_sd", "soft_ns_sd", "keep_rate", "full", "erased"]
    columns = ["setting", *RUN, "instance", "method", "role", *summed]
    return (
        pd.DataFrame(curves, columns=[*RUN, "instance", "method", "ratio", *MEASURES]),
        pd.DataFrame(values, columns=columns),
        scorer.costs,
    )


def random_scores(tokens: Tokens, *names: object) -> np.ndarray:
    """The scores that the method `random` gives, where it was not among those that explained."""
    return generator("explain", *names, "random").standard_normal(len(tokens.content))


def pick_soft(wanted: list[str], known: list[str]) -> list[str]:
    """The methods that are judged softly: those wanted, or all where none of them but random scores explained."""
    soft = [m for m in wanted if m in known]
    return soft if set(soft) - {"random"} else known


def account_of(case: Case) -> str:
    """Where the evaluations of a case are booked."""
    return case.method if case.setting == "main" else f"control: {case.setting}"


def judge(tokens: Tokens, case: Case, query: int | None):
    """The conversation that judges one case, hard and then, where asked, softly: (Erasure, SoftProbabilities or None)."""
    ties = generator("ties", *case.names)
    hard = yield from erase(tokens, case.scores, None, ties, case.protocol, query, case.calls)
    if not case.soft:
        return hard, None
    softened = yield from soft_erase(tokens, case.scores, hard.target, case.names, case.protocol, query)
    return hard, softened


def sum_up(hard: Erasure, softened: SoftProbabilities | None) -> tuple[float, ...]:
    """The numbers of one row of Measured.values."""
    area = (hard.normalised_comprehensiveness.mean(), hard.normalised_sufficiency.mean())
    if softened is None:
        return (*area, *[np.nan] * 5, hard.full, hard.erased)
    soft: SoftValues = soft_values(hard, softened)
    spread = (soft.each_comprehensiveness.std(ddof=0), soft.each_sufficiency.std(ddof=0))
    return (*area, soft.comprehensiveness, soft.sufficiency, *spread, softened.keep_rate, hard.full, hard.erased)


def change_scores(
    scorer, tokens, target: int, budget: Budget, known: dict, change: Change, names: tuple, protocol, query
) -> dict:
    """Method -> scores under a change: as explained, by other methods in their place, or with the separator scored."""
    wanted = {m: change.methods.get(m, m) for m in known}
    layout = lay_out(tokens, protocol, query)
    if tokens.special[layout.scored].any():
        tokens = replace(tokens, special=~np.isin(np.arange(len(tokens)), layout.scored))
        asked = list(wanted)
    else:
        asked = [m for m in wanted if wanted[m] != m]
    asked = [m for m in asked if scorer.model.family in METHODS[wanted[m]].families]
    found = scorer.converse(
        (
            f"explaining: {wanted[m]}",
            METHODS[wanted[m]].converse(tokens, target, budget, generator("explain", *names, wanted[m])),
        )
        for m in asked
    )
    return known | {m: scores.values for m, scores in zip(asked, found, strict=True)}


def change_cases(setting: str, change: Change, scores: dict, protocol: Protocol, names: tuple) -> list[Case]:
    """The cases of one setting: every method, random scores, and where asked permutations of each method's scores."""
    per_case = len(protocol.ratios)
    cases = [
        Case(setting, m, "own", scores[m], protocol, (*names, change.methods.get(m, m)), True, i * per_case)
        for i, m in enumerate(scores)
    ]
    if change.permuted:
        cases += [
            Case(setting, m, "permuted", permute(scores[m], *names, m), protocol, (*names, m, "permuted"))
            for m in scores
            if m != "random"
        ]
    return cases


def permute(scores: np.ndarray, *names: object) -> np.ndarray:
    """The scores in a random order that follows from names."""
    return generator("permuted", *names).permutation(scores)
