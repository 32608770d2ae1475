"""What a profile will cost before it runs: evaluations, tokens, time and memory of each step.

The steps are those of workflow.steps; each method says what it asks of a text (Method.cost); this
machine how fast it is (planning.speed). Rough where it must be: a text is as long as its task's are
on average, what several methods ask alike is counted for each, and what asks no model (tables,
intervals, figures) costs its step's start alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain

import numpy as np

from attreval.methods import METHODS, TECHNIQUES
from attreval.methods.method import Budget
from attreval.metrics.normalised_aopc import EXACT
from compendium import corpora
from compendium.config import Profile, TrainingSpec
from compendium.planning.speed import BATCH_TOKENS, GRADIENT, Speed, start_seconds
from compendium.workflow.step import set_threads
from compendium.workflow.steps import STEPS, Graph

# nodes at which a path meets its sum, on average over MiniLM's texts, whatever it begins with
NEEDED = 24
SUBWORDS = 1.25  # of a word
SPECIAL = 3  # tokens around texts
LOOKED_AT = 2000  # instances whose words are counted
# mean words of a text where its table is not at hand: of `quick`, or of the papers' tables of data
WORDS = {
    "snli": 23,
    "esnli": 23,
    "rotten_tomatoes": 22,
    "rated_movies": 22,
    "sst2": 19,
    "ag_news": 45,
    "fever": 300,
    "multirc": 330,
    "evidence_inference": 360,
    "bbc": 430,
    "imdb": 270,
    "yelp": 150,
    "newsgroups": 250,
    "manual_newsgroups": 250,
    "agreement_parsed": 12,
    "agreement_ud": 25,
    "agreement_linzen": 25,
    "hybrid_bbc": 240,
    "hybrid_imdb": 230,
    "hybrid_newsgroups": 250,
    "hybrid_yelp": 160,
}
OTHERWISE = 100  # of a corpus of one's own that has not been read
COUNTS = ("texts", "evaluations", "gradients", "tokens")


@dataclass(frozen=True)
class Work:
    """A step for one task and model, all its runs together.

    evaluations: asked of models at most, training included. gradients: those that take one. tokens:
    that models read. seconds: of a processor. memory: GiB of a process.
    """

    notebook: str
    task: str = ""
    model: str = ""
    steps: int = 1
    texts: float = 0
    evaluations: float = 0
    gradients: float = 0
    tokens: float = 0
    seconds: float = 0
    memory: float = 0.75

    def plus(self, other: "Work", times: float = 1) -> "Work":
        """The same with so many times as much of another's work."""
        sums: dict[str, float] = {"memory": max(self.memory, other.memory)}
        for name in (*COUNTS, "seconds"):
            sums[name] = getattr(self, name) + times * getattr(other, name)
        return Work(self.notebook, self.task, self.model, self.steps, **sums)


@dataclass(frozen=True)
class Plan:
    """rows: in the workflow's order. made_up: tasks whose texts are not at hand."""

    profile: Profile
    rows: list[Work]
    made_up: list[str]

    @property
    def processor_hours(self) -> float:
        return sum(row.seconds for row in self.rows) / 3600

    @property
    def wall_hours(self) -> float:
        """Of a machine with a core for every thread of every worker, if none ever waits."""
        return self.processor_hours / (self.profile.workers * self.profile.threads)

    def to_json(self) -> dict:
        """The plan as plain values; seconds and GiB are rounded."""
        digits: dict[str, int | None] = {**dict.fromkeys(COUNTS), "seconds": 1, "memory": 2}
        rows = []
        for row in self.rows:
            rounded = {name: round(getattr(row, name), to) for name, to in digits.items()}
            rows.append(asdict(row) | rounded)
        return {
            "profile": self.profile.name,
            "workers": self.profile.workers,
            "threads": self.profile.threads,
            "made_up": self.made_up,
            "processor_hours": round(self.processor_hours, 3),
            "wall_hours": round(self.wall_hours, 3),
            "rows": rows,
        }

    def table(self) -> list[dict[str, str]]:
        """Its rows for people, and their sum."""
        total = Work("all", steps=sum(row.steps for row in self.rows))
        for row in self.rows:
            total = total.plus(row)
        table = []
        for row in [*self.rows, total]:
            cells = {"step": row.notebook, "task": row.task, "model": row.model}
            cells |= {name: f"{round(getattr(row, name)):,}" for name in ("steps", *COUNTS)}
            table.append(cells | {"minutes": f"{row.seconds / 60:.1f}", "GiB": f"{row.memory:.1f}"})
        return table

    def notes(self) -> list[str]:
        """What the table does not say."""
        given = self.profile
        out = [
            f"{self.processor_hours:.2f} processor hours; {self.wall_hours:.2f} hours on a core "
            f"for each of {given.workers} workers x {given.threads} threads, if none waits",
            "at most: what several methods ask alike is counted for each and computed once, no "
            f"training stops early; paths that may grow take {NEEDED} nodes. What asks no model, "
            "downloads and the site are not in it",
        ]
        if self.made_up:
            why = "since their tables are not at hand (attreval fetch)"
            out.append(f"lengths declared, {why}: {', '.join(self.made_up)}")
        return out


def make_plan(profile: Profile, notify: Callable[[str], None] = lambda step: None) -> Plan:
    """The plan of a profile; ValueError for weights whose shape is not known here.

    notify: is told which step is looked at.
    """
    set_threads(profile.threads)
    graph = Graph(profile)
    counting = Counting(profile)
    rows = []
    for step in (step for step in STEPS if step.runs(graph)):
        notify(step.notebook)
        counted = counting.rows(step.rule)
        if not step.fields:  # one step for all tasks and models
            counted = [Work(""), *(replace(row, steps=0) for row in counted)]
        for row in counted:
            steps = row.steps
            if step.fields:
                steps = sum(run[:2] == (row.task, row.model) for run in step.runs(graph))
            started = steps * start_seconds() * (profile.workers if step.side_by_side else 1)
            seconds = row.seconds + started
            rows.append(replace(row, notebook=step.notebook, steps=steps, seconds=seconds))
    made_up = [task for task in profile.read_tasks() if not corpora.table_path(task).exists()]
    return Plan(profile, rows, made_up)


@cache
def mean_words(task: str) -> float:
    """Words of a text of a task: of its table where that is at hand, else as declared."""
    if not corpora.table_path(task).exists():
        return WORDS.get(task, OTHERWISE)
    return float(np.mean([len(one.words) for one in corpora.load_task(task, None, LOOKED_AT)]))


class Counting:
    """What the steps of a profile ask of its models, and what that costs on this machine."""

    def __init__(self, profile: Profile):
        self.profile = profile
        self.speed = cache(lambda model: Speed(profile.models[model], profile.device))

    def rows(self, rule: str) -> list[Work]:
        """What the steps of one rule ask, by task and model."""
        given = self.profile
        if rule == "crossed":
            design = Counting(given.crossed_profile())
            found: dict[tuple[str, str], Work] = {}
            for part in ("train", "explain", "joint"):
                for row in design.rows(part):
                    key = (row.task, row.model)
                    found[key] = found[key].plus(row) if key in found else row
            return [*found.values()]
        study = given.seed_study
        runs = {
            "train": given.trained_runs(),
            "seeds": [(study.task, study.model, 1)] if study else [],
            "faithfulness": given.explained_runs("faithfulness"),
            **dict.fromkeys(("explain", "joint", "joint_settings"), given.explained_runs()),
            **dict.fromkeys(
                ("explain_types", "agents", "diagnosis"), given.explained_runs("diagnosis")
            ),
        }
        rows = []
        for pair, times in Counter(run[:2] for run in runs.get(rule, ())).items():
            asked = Pair(given, *pair, self.speed(pair[1]))
            rows.append(Work("", *pair).plus(getattr(asked, rule)(), times))
        return rows


@dataclass(frozen=True)
class Pair:
    """A task and a model that reads it; each rule of the workflow has a method that says its work.

    speed: of the model, on this machine.
    """

    profile: Profile
    task: str
    model: str
    speed: Speed

    @property
    def family(self) -> str:
        """One of methods.method.FAMILIES."""
        return self.profile.models[self.model].family

    def applying(self, methods: Iterable[str]) -> list[str]:
        return [name for name in methods if self.family in METHODS[name].families]

    def lengths(self, most: int | None = None) -> tuple[int, int]:
        """(L, n): tokens of a text as the model reads it, and those that are scored."""
        transformer = self.family == "transformer"
        limit = self.profile.models[self.model].max_length
        special = SPECIAL if transformer else 0
        content = mean_words(self.task) * (SUBWORDS if transformer else 1)
        length = round(min(content + special, limit, most or limit))
        return length, max(1, length - special)

    def asked(self, texts: float, evaluations: float, gradients: float = 0) -> Work:
        """So many evaluations of each of some texts, so many of them with a gradient."""
        length, _ = self.lengths()
        passes = evaluations + (GRADIENT - 1) * gradients
        seconds = texts * passes * length * self.speed.seconds(length)
        counts = (texts, texts * evaluations, texts * gradients, texts * evaluations * length)
        memory = self.speed.memory(False, BATCH_TOKENS)
        return Work("", self.task, self.model, 0, *counts, seconds, memory)

    def explained(self, texts: float, methods: Iterable[str], budget: Budget) -> Work:
        """Texts that are predicted, and explained by those of some methods that apply."""
        length, content = self.lengths()
        budget = settled(budget)
        evaluations = 1.0
        gradients = 0.0
        for method in (METHODS[name] for name in self.applying(methods)):
            cost = method.cost(length, content, budget, self.speed.depth)
            evaluations += cost
            if method.kind in ("gradient", "propagation"):
                gradients += cost
        return self.asked(texts, evaluations, gradients)

    def trained(self, rows: tuple[float, float, float], spec: TrainingSpec) -> Work:
        """A training on so many rows, checked on so many and tested on so many."""
        train, dev, test = rows
        length, _ = self.lengths(spec.tokens)
        tokens = train * spec.epochs * length
        seconds = GRADIENT * tokens * self.speed.seconds(length, spec.batch_rows)
        own = replace(self.asked(train * spec.epochs, 1, 1), tokens=tokens, seconds=seconds)
        checked = test
        if train:
            checked += dev * spec.epochs * spec.evaluations_per_epoch
        own = replace(own.plus(self.asked(checked, 1)), texts=train)
        if train:
            own = replace(own, memory=self.speed.memory(True, spec.batch_rows * length))
        return own

    def train(self) -> Work:
        spec = self.profile.task_of(self.task, self.model)
        train = spec.train_rows or 0
        if train:
            for also in spec.also_train.values():
                train += also.rows * max(1, len(also.around_marks))
        rows = (train, spec.dev_rows or 0, spec.test_rows or 0)
        return self.trained(rows, self.profile.training_of(self.task, self.model))

    def explain(self) -> Work:
        spec = self.profile.explaining_of(self.task)
        given = self.profile.tasks[self.task]
        shown = len(given.examples) + len(given.printed)
        texts = self.profile.rows_explained(self.task, self.model) + shown
        return self.explained(texts, spec.methods, spec)

    def seeds(self) -> Work:
        study = self.profile.seed_study
        assert study
        spec = self.profile.study_explaining()
        rows = (study.train_rows, study.dev_rows, study.test_rows)
        one = self.trained(rows, self.profile.study_training())
        one = one.plus(self.explained(study.explain_rows, spec.methods, spec))
        return Work("").plus(one, len(study.seeds))

    def erased(self, texts: float) -> Work:
        """Texts erased by each method's scores in two ways: at every ratio, and in every draw."""
        spec = self.profile.faithfulness_of(self.task)
        methods = {"random", *self.applying(self.profile.explaining_of(self.task).methods)}
        hard = 2 * len(spec.ratios) * len(methods)
        softly = 2 * spec.draws * len(methods & set(spec.methods))
        return self.asked(texts, 2 + hard + softly)

    def faithfulness(self) -> Work:
        spec = self.profile.faithfulness_of(self.task)
        texts = self.profile.rows_explained(self.task, self.model)
        released = texts if spec.released_rows is None else spec.released_rows
        besides = {"scale_rows": 2, "control_rows": 6, "driver_rows": 2}
        more = texts + min(released, texts)
        more += sum(times * min(getattr(spec, rows), texts) for rows, times in besides.items())
        noise = len(spec.noise_variances) * 2 * spec.draws * len(spec.methods)
        disturbed = self.asked(min(spec.control_rows, texts), noise)
        own = self.erased(texts + more).plus(disturbed)
        return replace(own, texts=texts)

    def explain_types(self) -> Work:
        spec = self.profile.diagnosis
        budget = self.profile.explaining_of(self.task).changed(units=spec.units)
        own = self.asked(spec.oracle.rows, 2**spec.oracle.units)
        more = max(0, spec.agents.rows_of(self.task) - spec.rows)
        for techniques, rows in ((spec.techniques, spec.rows), (spec.agents.techniques, more)):
            by_type = (TECHNIQUES[technique].values() for technique in techniques)
            methods = list(chain.from_iterable(by_type))
            own = own.plus(self.explained(rows, methods, budget))
        return own

    def agents(self) -> Work:
        """A training for each condition and seed; without explanations, and with planted ones, too.

        Explanations make texts about twice as long, but for the planted: a single unit is shown.
        """
        spec = self.profile.diagnosis.agents
        training = self.profile.training_of(self.profile.read_by(self.task), self.model)
        training = training.changed(**spec.training)
        train, dev, test = spec.split
        rows = (train * spec.rows, dev * spec.rows, test * spec.rows)
        conditions = 2 + 2 * len(spec.techniques) * len(spec.types) * len(spec.forms)
        times = conditions * len(spec.seeds) if spec.rows_of(self.task) else 0
        return Work("").plus(self.trained(rows, training), times)

    def diagnosis(self) -> Work:
        """Two ways of erasing four types by every technique, at every number of pieces."""
        spec = self.profile.diagnosis
        pieces = len(spec.thresholds) or spec.most_pieces
        evaluations = 2 * 4 * pieces * (len(spec.techniques) + spec.random_draws)
        return self.asked(spec.rows, evaluations)

    def joint(self) -> Work:
        """What no earlier step has asked."""
        spec = self.profile.joint
        rows = self.profile.rows_explained(self.task, self.model)
        own = self.erased(spec.asked_of(self.task, rows))
        return replace(own, texts=spec.rows_of(self.task, rows))

    def joint_settings(self) -> Work:
        """Sampled methods at growing budgets, and orders of short texts."""
        given = self.profile
        spec = given.joint
        own = Work("")
        first = given.first_explained(self.task)
        is_first = first is not None and first[1] == self.model
        for name in spec.budgets.tasks.get(self.task, ()) if is_first else ():
            for size in spec.budgets.sizes_of.get(self.task, spec.budgets.sizes):
                budget = METHODS[name].limited(given.explaining_of(self.task), size)
                explained = self.explained(spec.budgets.rows, [name], budget)
                own = own.plus(explained, spec.budgets.seeds)
        short = spec.limits.tasks.get(self.task, 0)
        return own.plus(self.asked(short, 2 ** min(spec.limits.words, EXACT)))


def settled(budget: Budget) -> Budget:
    """The budget with NEEDED nodes on a path that may grow."""
    first = budget.path_steps
    most = budget.path_steps_most
    nodes = min(most, max(first, NEEDED)) if 2 * first <= most else first
    units = budget.units.changed(attention_steps_most=budget.units.attention_steps)
    return budget.changed(path_steps=nodes, path_steps_most=nodes, units=units)
