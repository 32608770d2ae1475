"""What methods and people select of one text, as voters (Kamp et al. 2023, section 3)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.tables import read_by_instance
from attreval.methods import METHODS, methods_in
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima, select
from attreval.metrics.marked import agreement_with_share, selection_with_share
from attreval.metrics.phrases import find_chunks
from attreval.metrics.scored_text import relevance, token_marks
from compendium.config import AgreementSpec, Profile, Run
from compendium.papers.common.runs import (
    attribution_files,
    examples,
    kept_for_run,
    load_attributions,
    load_tokens,
    of_run,
    one_by_one,
    to_explain,
)
from compendium.papers.common.tables import mean_low_high, table_of
from compendium.project import Results
from compendium.workflow.step import Step

PEOPLE = "people"  # the name of the human voter in tables
SIX = list(methods_in("kamp2023").values())
DYNAMIC = 0  # stands for dynamic k where a k is asked for


@dataclass(frozen=True)
class VotedText:
    """One explained instance. tokens: its n content tokens. scores: (n,) by method.

    marks: (A, n), A = 0 for none.
    """

    instance: str
    tokens: tuple[str, ...]
    scores: dict[str, np.ndarray]
    marks: np.ndarray

    @property
    def marked(self) -> bool:
        """Whether anybody marked anything that the model reads."""
        return bool((self.marks > 0).any())

    def of(self, voter: str) -> np.ndarray:
        """(n,) scores of a method, or the share of people."""
        return relevance(self.marks) if voter == PEOPLE else self.scores[voter]

    def peaks(self, voter: str, spec: AgreementSpec) -> np.ndarray:
        """(n,) bool, the tokens that a voter's dynamic k selects."""
        scores = self.of(voter)
        return select(local_maxima(scores, PEAK_RULES[spec.peaks]), len(scores))

    def agreement_at_k(
        self, voters: Sequence[str], k: int, spec: AgreementSpec, draw: int | None = None
    ) -> float:
        """agreement@k of voters (eq. 1-2) or at their dynamic k; NaN where nobody has a peak.

        draw: break ties at random, with the seed of this draw.
        """
        if PEOPLE in voters and spec.people == "share":
            (method,) = set(voters) - {PEOPLE}
            share = self.of(PEOPLE)
            if k == DYNAMIC:
                return selection_with_share(self.peaks(method, spec), share)
            return agreement_with_share(self.of(method), share, k)
        if k == DYNAMIC:
            return agreement_of([self.peaks(name, spec) for name in voters])
        if draw is None and spec.ties == "random":
            draw = 0
        rng = None if draw is None else generator("ties", draw, self.instance, k, *sorted(voters))
        return agreement_at_k([self.of(name) for name in voters], k, rng)


def voter_title(voter: str) -> str:
    """What figures and texts call a voter."""
    return "People" if voter == PEOPLE else METHODS[voter].title


def make_reading(instance: Instance, tokens: Tokens, records: dict[str, Attribution]) -> VotedText:
    """One instance with its attributions of any level, projected to tokens."""
    content = tokens.content
    scores = {method: record.on_content(tokens) for method, record in records.items()}
    marks = (
        token_marks(instance, tokens)
        if len(instance.evidence.marks)
        else np.zeros((0, len(content)))
    )
    return VotedText(instance.id, tuple(tokens.texts[t] for t in content), scores, marks)


def read_run(step: Step, run: Run) -> list[VotedText]:
    """Every explained instance of a run, in the order of the task's table.

    As notebook 05 has kept them, where the attributions are not here.
    """
    return list(_read_run(step.results, step.profile, *run))


@kept_for_run(attribution_files, 32)  # every table of the notebook asks for the same runs
def _read_run(results: Results, profile: Profile, *run: *Run) -> tuple[VotedText, ...]:
    kept = results.kept("readings", "05_kamp2023")
    if kept.exists() and not results.attributions(*run, 0).exists():
        out = []  # their tokens are stand-ins
        for row in of_run(pd.read_parquet(kept), run).itertuples():
            scores = dict(zip(row.methods, row.scores, strict=True))
            marks = np.array([*row.marks]).reshape(-1, len(row.chunks))
            out.append(VotedText(row.instance, tuple(_cut_alike(row.chunks)), scores, marks))
        return tuple(out)
    tokens = load_tokens(results, profile, *run)
    records = load_attributions(results, profile, *run)
    instances = to_explain(profile, *run[:2])
    return tuple(make_reading(one, tokens[one.id], records[one.id]) for one in instances)


def read_runs(step: Step) -> Iterator[tuple[Run, list[VotedText]]]:
    """Every run that tables of agreement are of, with its readings by the methods of the paper.

    By these alone: what chance gives does not depend on others.
    """
    for run in agreement_runs(step):
        of_six = [
            replace(one, scores={m: s for m, s in one.scores.items() if m in SIX})
            for one in read_run(step, run)
        ]
        yield run, of_six


@table_of("task model seed instance chunks methods scores marks")
def readings_table(step: Step) -> Iterator[tuple]:
    """One row a text, without its tokens: all that claims are made from.

    chunks: the number of each token's; scores: of each method; marks: of each person.
    """
    for run, readings in read_runs(step):
        for one in readings:
            scores = [*one.scores.values()]
            yield *run, one.instance, find_chunks(one.tokens), [*one.scores], scores, [*one.marks]


def _cut_alike(chunks: np.ndarray) -> Iterator[str]:
    """Tokens that are cut into the same chunks: a mark, or a function word before others."""
    for size in np.bincount(chunks):
        yield from ["."] if size == 1 else ["the", *["word"] * (size - 1)]


def by_run(
    columns: str,
) -> Callable[[Callable[..., Iterable[tuple]]], Callable[[Step], pd.DataFrame]]:
    """Decorate (step, run, readings) -> rows: it gives the table of all runs.

    columns: those behind the run's.
    """

    def decorate(rows: Callable[..., Iterable[tuple]]) -> Callable[[Step], pd.DataFrame]:
        @table_of(f"task model seed {columns}")
        @wraps(rows)
        def of_all_runs(step: Step) -> Iterator[tuple]:
            what = rows.__name__.replace("_", " ")
            for run in one_by_one(step, what, agreement_runs(step)):
                for row in rows(step, run, read_run(step, run)):
                    yield *run, *row

        return of_all_runs

    return decorate


def mean_with_interval(step: Step, values: ArrayLike, run: Run) -> np.ndarray:
    """(3, ...) means over instances and the ends of their intervals.

    Draws are the same in all tables of a run.
    """
    return mean_low_high(values, step.profile.bootstrap, "agreement", *run)


def by_k(
    step: Step, run: Run, readings: Sequence[VotedText], voters: Sequence[str], first: int = 1
) -> Iterator[tuple]:
    """Rows from the first k to the largest: k, the voters' mean agreement, how many texts."""
    spec = step.profile.agreement
    ks = range(first, spec.largest_k + 1)
    values = [[r.agreement_at_k(voters, k, spec) for k in ks] for r in readings]
    for k, found in zip(ks, mean_with_interval(step, values, run).T, strict=True):
        yield k, *found, len(readings)


def first_examples(step: Step) -> list[VotedText]:
    """The instances that the profile wants to show, of the first run that has some.

    Else the first that it explains.
    """
    runs = agreement_runs(step)
    run = next((run for run in runs if step.profile.tasks[run[0]].examples), None)
    if run is None:
        return read_run(step, runs[0])[:1]
    tokens = load_tokens(step.results, step.profile, *run, part="examples")
    records = read_by_instance(step.results.attributions(*run, "examples"))
    wanted = examples(run[0], step.profile.tasks[run[0]].examples)
    return [make_reading(i, tokens[i.id], records[i.id]) for i in wanted]


def voters(readings: Sequence[VotedText], among: Sequence[str] = SIX) -> list[str]:
    """Those of the methods that explain every instance."""
    return [method for method in among if all(method in reading.scores for reading in readings)]


def marked(readings: Sequence[VotedText]) -> list[VotedText]:
    """Those that people have marked."""
    return [reading for reading in readings if reading.marked]


def voters_and_people(readings: Sequence[VotedText]) -> list[str]:
    """The methods of the paper that explain every instance, and people where they marked any."""
    return [*voters(readings), *([PEOPLE] if marked(readings) else [])]


def shared_readings(readings: Sequence[VotedText], *names: str) -> Sequence[VotedText]:
    """Those on which all of these voters have something to say.

    What nobody marked does not count for people.
    """
    return marked(readings) if PEOPLE in names else readings


def agreement_runs(step: Step) -> list[Run]:
    """The runs that tables of agreement are of, as `agreement.runs` says.

    A model of one seed has nothing to choose.

    FileNotFoundError: notebook 05_kamp2023_seeds, whose table names the chosen runs, has not run.
    """
    runs = step.profile.explained_runs("agreement")
    if step.profile.agreement.runs == "all" or len(runs) == len({run[:2] for run in runs}):
        return runs
    apd = step.results.read_table("apd", "05_kamp2023_seeds")
    chosen = {(row.task, row.model): row.seed for row in apd[apd.chosen].itertuples()}
    return [run for run in runs if chosen.get(run[:2], run[2]) == run[2]]
