"""Hard and soft erasure of every explanation in every setting (Zhao & Aletras 2023).

Every instance is one conversation with the ledger: what two methods, measures or settings have in
common is computed once. The main run sees every explained instance, changes of protocol only the
first of a task.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attreval.core.records import Cost, Instance, Tokens
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics.erasure import Erasure, erase
from attreval.metrics.protocol import Protocol, find_layout
from attreval.metrics.soft_erasure import SoftProbabilities, soft_erase, soft_values
from attreval.models.questions import Conversation
from compendium.config import Profile, Run
from compendium.papers.common.runs import (
    RUN,
    PrintedText,
    Records,
    common_methods,
    load_records_once,
    to_explain,
)
from compendium.papers.common.tables import spell
from compendium.papers.common.trained_models import open_run
from compendium.papers.zhao2023.settings import list_settings, main_rows, query_segment
from compendium.project import Results
from compendium.workflow.step import Step

if TYPE_CHECKING:  # claims are judged again without torch
    from attreval.models.scorer import Scorer

TOGETHER = 5  # instances that share batches
HARD_MEASURES = [
    "comprehensiveness",
    "sufficiency",
    "normalised_comprehensiveness",
    "normalised_sufficiency",
]
ROW = [*RUN, "instance", "method"]
VALUES = spell("nc ns soft_nc soft_ns soft_nc_sd soft_ns_sd keep_rate drop_rate full erased")


@dataclass(frozen=True)
class ErasureInput:
    """One attribution under one protocol.

    role: the method's `own` scores, or these `permuted`, as its rival.

    names: what the order of equal scores derives from. calls: numbers computed before on this text,
        for the drift.
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
class ErasureValues:
    """What erasure says of every explanation.

    curves: one row an instance, method and ratio, by the main protocol, with the four hard
    measures.

    values: one row a setting, instance, method and role: NC and NS over all ratios, Soft-NC and
    Soft-NS, their standard deviations over draws, the mean shares that are kept and removed.
    rival_curves: as curves, of scores in another order, where the main run's rivals are those.
    """

    curves: pd.DataFrame
    values: pd.DataFrame
    rival_curves: pd.DataFrame


def evaluate_erasure(step: Step) -> ErasureValues:
    """The erasure measures of every explained instance."""
    profile = step.profile
    jobs = []
    lengths = []
    for run in profile.explained_runs("faithfulness"):
        for start in range(0, profile.rows_explained(*run[:2]), TOGETHER):
            jobs.append((step.results, profile, run, start))
            lengths.append(profile.models[run[1]].max_length)
    # the longest texts first: no process is left alone with them at the end
    order = np.argsort(-np.array(lengths), kind="stable")
    done = step.ask_side_by_side(
        _evaluate_part, [jobs[j] for j in order], f"erasing, {TOGETHER} instances a part"
    )
    parts = [done[at] for at in np.argsort(order)]
    curves = pd.concat([of_part for of_part, _ in parts], ignore_index=True)
    values = pd.concat([of_part for _, of_part in parts], ignore_index=True)

    def of_role(role: str) -> pd.DataFrame:
        return curves[curves.role == role].drop(columns="role").reset_index(drop=True)

    return ErasureValues(of_role("own"), values, of_role("permuted"))


def _evaluate_part(
    results: Results, profile: Profile, run: Run, start: int
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], dict[str, Cost]]:
    """(curves and values, costs by account) of the instances from `start`; see ErasureValues."""
    scorer = open_run(results, profile, run)
    records = load_records_once(results, profile, *run)
    chosen = to_explain(profile, *run[:2])[start : start + TOGETHER]
    return erase_each(scorer, profile, run, enumerate(chosen, start), records), scorer.costs


def erase_printed(step: Step, run: Run, printed: PrintedText) -> pd.DataFrame:
    """The values of a printed text in the main run; see ErasureValues."""
    scorer = open_run(step.results, step.profile, run)
    numbered = [(sys.maxsize, printed.instance)]  # behind those that other settings ask of
    records = {printed.instance.id: printed.records}
    _, values = erase_each(scorer, step.profile, run, numbered, records)
    return main_rows(values)


def erase_each(
    scorer: "Scorer",
    profile: Profile,
    run: Run,
    numbered: Iterable[tuple[int, Instance]],
    records: Records,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(curves, values) of a run's instances with their numbers; see ErasureValues."""
    task = run[0]
    query = query_segment(task)
    curves = []
    values = []
    for at, instance in numbered:
        tokens = scorer.model.tokens(instance)
        names = (*run, instance.id)
        known = {m: records[instance.id][m].scores for m in common_methods(records)}
        known.setdefault("random", random_scores(tokens, *names))
        target = next(iter(records[instance.id].values())).target
        inputs = list_inputs(scorer, profile, task, at, tokens, known, target, names)
        conversations = (
            (
                one.method if one.setting == "main" else f"control: {one.setting}",
                ask_erasure(tokens, one, query),
            )
            for one in inputs
        )
        for one, (hard, probabilities) in zip(inputs, scorer.converse(conversations), strict=True):
            about = (*names, one.method, one.role)
            if one.setting == "main":
                by_ratio = zip(
                    hard.ratios, *(getattr(hard, name) for name in HARD_MEASURES), strict=True
                )
                curves += [(*about, *numbers) for numbers in by_ratio]
            values.append((one.setting, *about, *erasure_values(hard, probabilities)))
        scorer.forget()
    return (
        pd.DataFrame(curves, columns=[*ROW, "role", "ratio", *HARD_MEASURES]),
        pd.DataFrame(values, columns=["setting", *ROW, "role", *VALUES]),
    )


def list_inputs(
    scorer: "Scorer",
    profile: Profile,
    task: str,
    at: int,
    tokens: Tokens,
    known: dict,
    target: int,
    names: tuple,
) -> list[ErasureInput]:
    """Every input of a task's instance number `at`, in all of its settings.

    known: method -> scores of the target.
    """
    query = query_segment(task)
    budget = profile.explaining_of(task)
    inputs = []
    soft = [m for m in profile.faithfulness_of(task).methods if m in known]
    # where none of the methods that soft erasure is for has explained, it takes all
    if not set(soft) - {"random"}:
        soft = list(known)
    for name, setting in list_settings(profile, task, at).items():
        # the released code knows only its own methods
        every = name == "main" and not setting.methods
        chosen = known if every else {m: known[m] for m in soft}
        protocol = setting.protocol
        # as explained, by other methods in their place, or with the separator scored
        wanted = {m: setting.methods.get(m, m) for m in chosen}
        asked = [m for m in wanted if wanted[m] != m]
        read = tokens
        scored = find_layout(tokens, protocol, query).scored
        if tokens.special[scored].any():
            read = replace(tokens, special=~np.isin(np.arange(len(tokens)), scored))
            asked = list(wanted)
        asked = [m for m in asked if scorer.model.family in METHODS[wanted[m]].families]
        talks = []
        for other in (wanted[m] for m in asked):
            rng = generator("explain", *names, other)
            talk = METHODS[other].converse(read, target, budget, rng)
            talks.append((f"explaining: {other}", talk))
        made = zip(asked, scorer.converse(talks), strict=True)
        scores = chosen | {m: found.values for m, found in made}
        for before, (m, own) in enumerate(scores.items()):
            drawn_by = (*names, setting.methods.get(m, m))
            calls = before * len(protocol.ratios)  # numbers computed so far
            inputs.append(
                ErasureInput(
                    name, m, "own", own, protocol, drawn_by, setting.soft and m in soft, calls
                )
            )
        rivalled = [m for m in scores if m in soft and m != "random"]
        for m in rivalled if setting.permuted else ():
            permuted = generator("permuted", *names, m).permutation(scores[m])
            inputs.append(
                ErasureInput(name, m, "permuted", permuted, protocol, (*names, m, "permuted"))
            )
    return inputs


def random_scores(tokens: Tokens, *names: object) -> np.ndarray:
    """The scores that the method `random` gives, where it was not among those that explained."""
    return generator("explain", *names, "random").standard_normal(len(tokens.content))


def ask_erasure(tokens: Tokens, given: ErasureInput, query: int | None) -> Conversation:
    """The conversation of one input: (Erasure, SoftProbabilities where wanted)."""
    ties = generator("ties", *given.names)
    hard = yield from erase(tokens, given.scores, None, ties, given.protocol, query, given.calls)
    if not given.soft:
        return hard, None
    soft = yield from soft_erase(
        tokens, given.scores, hard.target, given.names, given.protocol, query
    )
    return hard, soft


def erasure_values(hard: Erasure, probabilities: SoftProbabilities | None) -> tuple[float, ...]:
    """The VALUES of one input.

    NC, NS, Soft-NC, Soft-NS, sd of the soft two over draws, the shares that Soft-NS keeps and that
    Soft-NC removes, probability of the whole and of the erased text.
    """
    found = {
        "nc": hard.normalised_comprehensiveness.mean(),
        "ns": hard.normalised_sufficiency.mean(),
        "full": hard.full,
        "erased": hard.erased,
    }
    if probabilities is not None:
        soft = soft_values(hard, probabilities)
        found |= {
            "soft_nc": soft.comprehensiveness,
            "soft_ns": soft.sufficiency,
            "soft_nc_sd": soft.each_comprehensiveness.std(ddof=0),
            "soft_ns_sd": soft.each_sufficiency.std(ddof=0),
            "keep_rate": probabilities.keep_rate,
            "drop_rate": probabilities.drop_rate,
        }
    return tuple(found.get(name, np.nan) for name in VALUES)
