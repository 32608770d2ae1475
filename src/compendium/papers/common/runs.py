"""What is stored about a run (task, model, seed), a profile's instances, and what papers report.

Instances are the first of a table, whose order is random and never changes, so everybody has the
same ones.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.tables import read_by_instance, read_tokens
from attreval.methods import METHODS
from attreval.methods.method import Budget
from compendium import corpora, project
from compendium.config import Profile, Run
from compendium.corpora.written import printed_instances
from compendium.papers.common.tables import put_together, table_of
from compendium.project import Results
from compendium.workflow.step import Step

BY_TOKEN = [name for name, method in METHODS.items() if method.level == "token"]
TYPED = "07_sun2024_explanations"  # the notebook that explains by units, pairs and spans
RUN = ["task", "model", "seed"]  # the columns that name a run
Read = dict[str, Tokens]  # by instance id
Records = dict[str, dict[str, Attribution]]  # by instance id and method
ACCURACY = ["accuracy", "accuracy_low", "accuracy_high", "majority"]
# what a method's explanations ask of models
COSTS = ["requested", "unique", "reused", "requested_tokens", "unique_tokens", "gradients"]
# what a paper publishes, on its own measure; a model further below says nothing of its claims
MOST_BELOW = 0.15
# by task that a model is trained on: the measure, and the least that a paper publishes for a model
PUBLISHED = {
    "yelp": ("accuracy", 0.954),
    "newsgroups": ("accuracy", 0.705),
    "agreement_linzen": ("accuracy", 0.985),
    "snli": ("macro_f1", 0.854),
    "fever": ("macro_f1", 0.8488),
    "sst2": ("macro_f1", 0.904),
    "ag_news": ("macro_f1", 0.936),
    "evidence_inference": ("macro_f1", 0.823),
    "multirc": ("macro_f1", 0.740),
}
OTHER_LABELS = {"fever": "its third label is made by removing evidence"}  # not the paper's gold


@dataclass(frozen=True)
class OtherChoice:
    """A field of the budget at another value, by which some texts are explained again.

    methods: those that it bears upon. budget: with this value. texts: of the first shard, as many
    as are explained again, None for all.
    """

    field: str
    value: object
    methods: tuple[str, ...]
    budget: Budget
    texts: int | None

    @property
    def part(self) -> str:
        """What the file of its attributions is named by."""
        return f"{self.field}-{self.value}".lower()


def reported(name: str) -> pd.DataFrame:
    """The published figures of paper/reported/<name>.csv.

    Raises FileNotFoundError that lists those there are.
    """
    folder = project.home() / "paper" / "reported"
    path = folder / f"{name}.csv"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in folder.glob("*.csv")))
        raise FileNotFoundError(f"no published figures {name!r}; there are: {there}")
    return pd.read_csv(path)


def attribution_files(results: Results, profile: Profile, *run: *Run) -> list[Path]:
    """The attribution tables of every shard of a run (task, model, seed)."""
    shards = range(profile.explaining_of(run[0]).shards)
    return [results.attributions(*run, shard) for shard in shards]


def load_attributions(results: Results, profile: Profile, *run: *Run) -> Records:
    """Attributions of every shard of a run: instance id -> method -> record."""
    files = attribution_files(results, profile, *run)
    paths = [results.existing(path, "03_explain") for path in files]
    return dict(sorted(read_by_instance(*paths).items()))


def load_tokens(results: Results, profile: Profile, *run: *Run, part: str = "") -> Read:
    """How the model reads the instances of every shard, or of a part: `examples`, `printed`."""
    parts = [part] if part else range(profile.explaining_of(run[0]).shards)
    paths = [results.tokens(*run, part) for part in parts]
    return read_tokens(*(results.existing(path, "03_explain") for path in paths))


def load_typed_attributions(results: Results, profile: Profile, *run: *Run) -> Records:
    """Attributions of several types, of all parts of a run: instance id -> method -> record."""
    paths = [results.typed_attributions(*run, part) for part in range(profile.diagnosis.parts)]
    return read_by_instance(*(results.existing(path, TYPED) for path in paths))


def load_typed_tokens(results: Results, profile: Profile, *run: *Run) -> Read:
    """How the model reads the instances of all these parts, by instance id."""
    paths = [results.typed_tokens(*run, part) for part in range(profile.diagnosis.parts)]
    return read_tokens(*(results.existing(path, TYPED) for path in paths))


def one_by_one(step: Step, what: str, items: Sequence) -> Iterator:
    """The items in turn, while the display of progress says how many are done."""
    show = step.progress(what)
    for done, item in enumerate(items, start=1):
        yield item
        show(done, len(items))


def of_run(table: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The rows of a run; none of an empty table."""
    return table[(table[RUN] == list(run)).all(axis=1)] if len(table) else table


def common_methods(records: Records) -> list[str]:
    """The methods of single tokens that have explained every instance of a run."""
    explained = set.intersection(*map(set, records.values()))
    return [name for name in BY_TOKEN if name in explained]


Answer = TypeVar("Answer")
OfRun = Callable[[Results, Profile, str, str, int], Answer]


def kept_for_run(
    files: OfRun[Iterable[Path]], runs: int = 1
) -> Callable[[OfRun[Answer]], OfRun[Answer]]:
    """Decorate a function of (results, profile, task, model, seed) to remember its last answers.

    files: of the same, what it reads: where one was written anew, the answer is made anew. runs: of
    how many runs answers are kept.
    """

    def decorate(load: OfRun[Answer]) -> OfRun[Answer]:
        kept: dict[tuple, Answer] = {}

        @wraps(load)
        def load_once(results: Results, profile: Profile, *run: *Run) -> Answer:
            states = [path.stat() for path in files(results, profile, *run) if path.exists()]
            written = tuple((state.st_mtime_ns, state.st_size) for state in states)
            key = (results.root, profile.model_dump_json(), run, written)
            if key not in kept:
                kept[key] = load(results, profile, *run)
                if len(kept) > runs:
                    del kept[next(iter(kept))]  # the oldest
            return kept[key]

        return load_once

    return decorate


load_records_once = kept_for_run(attribution_files)(load_attributions)


def read_of_runs(
    step: Step, table: str, notebook: str, parts: Iterable[tuple], gaps: bool = False
) -> pd.DataFrame:
    """A table that a notebook wrote for each of these runs, or parts of runs, with its run.

    gaps: some may be missing.
    """
    found = []
    for part in parts:
        if not gaps or step.results.table(table, notebook, *part).exists():
            about = dict(zip(RUN, part, strict=False))
            found.append(step.results.read_table(table, notebook, *part).assign(**about))
    return put_together(found or [pd.DataFrame(columns=RUN)])


def read_shards(
    step: Step, table: str, runs: Iterable[Run] | None = None, gaps: bool = False
) -> pd.DataFrame:
    """A table that notebook 03 wrote for each shard of these runs, or of all runs."""
    profile = step.profile
    shards = [
        (*run, shard)
        for run in (profile.explained_runs() if runs is None else runs)
        for shard in range(profile.explaining_of(run[0]).shards)
    ]
    return read_of_runs(step, table, "03_explain", shards, gaps)


def mean_costs(parts: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """COSTS an instance, by some columns, of tables that say so for parts of the instances."""
    sums = parts.assign(**parts[COSTS].mul(parts.instances, axis=0)).groupby(by, sort=False)
    totals = sums[["instances", *COSTS]].sum()
    return totals.assign(**totals[COSTS].div(totals.instances, axis=0))


def read_accuracy(step: Step, *run: *Run) -> pd.Series:
    """How the model of a run, which another task may have trained, did on its test split."""
    trained = step.profile.read_by(run[0])
    return step.results.read_table("accuracy", "02_train", trained, *run[1:]).iloc[0]


@table_of("task model seed accuracy± majority reason")
def unlearned_table(step: Step, runs: Iterable[Run], of_papers: bool = True) -> Iterator[tuple]:
    """One row a run whose explanations are no evidence for or against a method, with the `reason`.

    Its model is not surely more accurate on test than the most frequent class; or, for the claims
    of papers, void. The model of a run is that of the task that reads it, `profile.read_by(task)`.
    """
    for run in runs:
        found = read_accuracy(step, *run)
        trained = step.profile.read_by(run[0])
        measure, published = PUBLISHED.get(trained, ("accuracy", 0.0))
        if not found.accuracy_low > found.majority:
            reason = f"{run[0]}: no better than the most frequent class"
        elif of_papers and trained in OTHER_LABELS:
            reason = f"{trained}: {OTHER_LABELS[trained]}"
        elif of_papers and (ours := found.get(measure, np.nan)) < published - MOST_BELOW:
            reason = f"{trained}: {measure} {ours:.2f}, published {published:.2f}"
        else:
            continue
        yield *run, *found[ACCURACY], reason


def drop_unlearned(frame: pd.DataFrame, unlearned: pd.DataFrame) -> pd.DataFrame:
    """The table without the rows of these runs, or all of it where that would leave nothing."""
    kept = frame[~frame.set_index(RUN).index.isin(unlearned.set_index(RUN).index)]
    return kept if len(kept) else frame


def to_explain(
    profile: Profile, task: str, model: str, shard: int | None = None, rows: int | None = None
) -> list[Instance]:
    """The test instances on which a profile explains a model, or those of one shard.

    rows: how many, if not as many as the profile says.
    """
    chosen = corpora.load_task(task, "test", rows or profile.rows_explained(task, model))
    return chosen if shard is None else chosen[shard :: profile.explaining_of(task).shards]


def evaluated_instances(profile: Profile, task: str) -> list[Instance]:
    """The test instances that the diagnosis looks at."""
    return corpora.load_task(task, "test", profile.diagnosis.rows)


def marked_corpus(task: str) -> list[Instance]:
    """All of a task's dev and test instances that people have marked."""
    splits = [split for split in ("dev", "test") if split in corpora.TASKS[task].splits]
    instances = [one for split in splits for one in corpora.load_task(task, split)]
    return [one for one in instances if len(one.evidence.marks)]


def examples(task: str, wanted: list[str]) -> list[Instance]:
    """The test instances of these ids, in this order; ValueError where there is no such one."""
    found = (
        {instance.id: instance for instance in corpora.load_task(task, "test")} if wanted else {}
    )
    if missing := [name for name in wanted if name not in found]:
        look = next(iter(found), "none")
        raise ValueError(
            f"task {task!r} has no test instance {missing[0]!r}; ids look like {look!r}"
        )
    return [found[name] for name in wanted]


@dataclass(frozen=True)
class PrintedText:
    """A text that a paper prints, as a run reads and explains it by method, and its prediction."""

    instance: Instance
    tokens: Tokens
    records: dict[str, Attribution]
    predicted: int


def load_printed(step: Step, run: Run, name: str) -> PrintedText:
    """What notebook 03 has left of a printed text of its task's `printed`."""
    (instance,) = printed_instances(run[0], [name])
    tokens = load_tokens(step.results, step.profile, *run, part="printed")[name]
    records = read_by_instance(step.results.attributions(*run, "printed"))[name]
    said = step.results.read_table("printed", "03_explain", *run, 0).set_index("instance")
    return PrintedText(instance, tokens, records, said.predicted[name])


def borrowed_evidence(task: str) -> dict[tuple[str, ...], Instance]:
    """The instances of the tasks that carry people's marks on this one's texts, by their texts."""
    marked: dict[tuple[str, ...], Instance] = {}
    for annotated in reversed(corpora.evidence_tasks(task)):  # the preferred one overwrites
        if corpora.table_path(annotated).exists():
            marked |= {i.segments: i for i in corpora.load_task(annotated, "test")}
    return marked


def with_evidence(instance: Instance, marked: dict[tuple[str, ...], Instance]) -> Instance:
    """The instance with what people marked in the same texts elsewhere, unless it has its own."""
    own = instance.evidence
    if own.marks.size or own.interactions or instance.segments not in marked:
        return instance
    return replace(instance, evidence=marked[instance.segments].evidence)
