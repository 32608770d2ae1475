"""Every step of a run, in order: what it reads and makes, and what makes it run again.

workflow/Snakefile loops over STEPS; manifests, the published run, docs/fidelity.md and the plan
read them. A step runs again when a file that it reads changes, its settings (every value of the
profile that it reads), or its code: what the packages' modules that it imports say, without
comments and docstrings.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from compendium import project
from compendium.config.profile import Profile, Run
from compendium.config.sections import Judge
from compendium.corpora import TASKS
from compendium.project import Results, step_name
from compendium.workflow.graph import Graph, notebook_digest
from compendium.workflow.parameters import NOTEBOOKS

# of TASKS, that steps read
TASK_FACTS = ("title", "labels", "segments", "trained_on", "evidence_from", "splits")
# what training imports and never runs: a test traces trainings of all architectures
NOT_TRAINED = (
    "attreval.models.transformer_deeplift",
    "attreval.models.transformer_lrp",
    "attreval.models.words.relevance_walk",
    *(
        f"attreval.models.questions.{name}"
        for name in ("attention", "inside", "path_gradient", "soft_erasure")
    ),
)
# sections of a profile that the crossed design takes over
OF_CROSSED = (
    "crossed",
    "models",
    "training",
    "explain",
    "agreement",
    "faithfulness",
    "pointing",
    "bootstrap",
)


@dataclass(frozen=True)
class StepKind:
    """A rule of the workflow that runs one notebook, once or for each of its runs.

    Attributes:
        rule: its name.
        notebook: what it runs.
        reads: the files of one run besides the notebook.
        settings: the values of the profile that it uses.
        runs: the step's instances in a profile, [()] where it runs once; an empty list skips it.
        makes: its files besides the executed copy and the record.
        judge: whose explained runs it reads.
        side_by_side: whether it starts a process for each of the profile's workers.
        asks: whether it runs models, and takes an accelerator.
        not_run: modules that it imports but never runs.
    """

    rule: str
    notebook: str
    reads: Callable[..., list[Path]]
    settings: Callable[..., list]
    runs: Callable[[Graph], list[tuple]] = lambda graph: [()]
    makes: tuple[Callable[..., Path], ...] = ()
    judge: str = ""
    side_by_side: bool = False
    asks: bool = False
    not_run: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The parameters that tell its runs apart; none where it runs once."""
        return NOTEBOOKS[self.notebook].identity

    def read_files(self, graph: Graph, *run: Any) -> list[str]:
        return [
            str(project.home() / "notebooks" / f"{self.notebook}.ipynb"),
            *map(str, self.reads(graph, *run)),
        ]

    def made_files(self, graph: Graph, *run: Any) -> list[str]:
        """Every file that one run makes; of its wildcards, a pattern."""
        made = [path(graph.results, *run) for path in self.makes]
        return [*map(str, graph.executed(self.notebook, [run])), *map(str, made)]

    def state(self, graph: Graph, *run: Any) -> list:
        """What makes a run stale besides files: settings, facts of its tasks, and code."""
        tasks = [run[0], graph.profile.read_by(run[0])] if run else graph.profile.read_tasks()
        facts = {task: [getattr(TASKS[task], name) for name in TASK_FACTS] for task in tasks}
        return [self.settings(graph, *run), facts, self.code]

    @cached_property
    def code(self) -> str:
        """A digest of what it runs of the packages."""
        return notebook_digest(self.notebook, self.not_run)


def _runs(judge: Judge) -> Callable[[Graph], list[Run]]:
    return lambda graph: graph.profile.explained_runs(judge)


def _judging(judge: Judge) -> Callable[[Graph], list[tuple]]:
    """The runs of a step that runs once where the profile has explanations for a judge."""
    return lambda graph: [()] if graph.profile.explained_runs(judge) else []


def _read_explaining(graph: Graph, *run: Any) -> list[Path]:
    return [*graph.tables(run[:1]), *graph.trained([run[:3]])]


def _read_judged(paper: str, judge: Judge) -> Callable[[Graph], list[Path]]:
    """What a judge of stored explanations reads, and the models, of which it asks one at least."""

    def read(graph: Graph) -> list[Path]:
        runs = graph.profile.explained_runs(judge)
        return [
            *graph.explanations(runs),
            *graph.trained(runs),
            *graph.accuracies(runs),
            *graph.tables_of(runs),
            *graph.reported(paper),
        ]

    return read


def _judged_settings(paper: str, judge: Judge, *more: str) -> Callable[[Graph], list]:
    """What decides over a paper's notebook: its claims, its judge, and its runs' explanations."""
    sections = (judge, "bootstrap", *more)
    return lambda graph: [
        graph.claims(paper),
        graph.sections(*sections),
        graph.explaining(_runs(judge)(graph)),
    ]


def _read_agreement(graph: Graph) -> list[Path]:
    chosen = graph.profile.agreement.runs == "lowest_apd" and graph.several_seeds
    return [
        *_read_judged("kamp", "agreement")(graph),
        *(graph.executed("05_kamp2023_seeds") if chosen else []),
    ]


def _read_seeds(graph: Graph) -> list[Path]:
    study = graph.profile.seed_study
    own = [*graph.tables([study.task]), *graph.pretrained([study.model])] if study else []
    return [
        *own,
        *graph.explanations(graph.several_seeds),
        *graph.accuracies(graph.several_seeds),
        *graph.reported("kamp"),
    ]


def _seed_settings(graph: Graph) -> list:
    given = graph.profile
    study = (
        [given.study_training().model_dump(), given.study_explaining().model_dump()]
        if given.seed_study
        else []
    )
    return [
        graph.sections("seed_study", "agreement", "models"),
        *study,
        graph.explaining(graph.several_seeds),
    ]


def _erasure(graph: Graph, runs: Iterable[Run]) -> list[dict]:
    """How faithfulness is judged on these runs."""
    return [graph.profile.faithfulness_of(run[0]).model_dump() for run in runs]


def _read_diagnosis(graph: Graph) -> list[Path]:
    runs = graph.profile.explained_runs("diagnosis")
    return [
        *graph.typed_explanations(runs),
        *graph.trained(runs),
        *graph.accuracies(runs),
        *graph.tables_of(runs),
        *graph.executed("07_sun2024_agents", runs),
        *graph.reported("sun"),
    ]


def _read_joint(graph: Graph) -> list[Path]:
    before = ("pointing_game", "faithfulness", "explain_types", "agents", "diagnosis")
    return [
        *graph.explanations(graph.joint),
        *graph.trained(graph.joint),
        *graph.accuracies(graph.joint),
        *graph.tables_of(graph.joint),
        *graph.executed("03_explain", graph.shards(graph.joint)),
        *(
            path
            for s in STEPS
            if s.rule in before
            for path in graph.executed(s.notebook, s.runs(graph))
        ),
    ]


def _compared(graph: Graph) -> list[tuple]:
    """The one run of a step that compares what all judges say, where any has said something."""
    return [()] if graph.joint or _runs("diagnosis")(graph) else []


STEPS = (
    StepKind(
        "data",
        "01_data",
        reads=lambda graph: graph.tables(graph.profile.read_tasks()),
        settings=lambda graph: [list(graph.profile.tasks)],
    ),
    StepKind(
        "train",
        "02_train",
        runs=lambda graph: graph.profile.trained_runs(),
        reads=lambda graph, task, model, seed: [
            *graph.tables([task, *graph.profile.task_of(task, model).also_train]),
            *graph.pretrained([model]),
        ],
        settings=lambda graph, task, model, seed: [
            *graph.training(task, model),
            graph.sections("bootstrap"),
        ],
        makes=(lambda results, *run: results.model(*run) / "model.safetensors",),
        asks=True,
        not_run=NOT_TRAINED,
    ),
    StepKind(
        "explain",
        "03_explain",
        runs=lambda graph: graph.shards(graph.profile.explained_runs()),
        reads=_read_explaining,
        settings=lambda graph, *run: [graph.explaining([run[:3]]), graph.sections()],
        makes=(Results.attributions, Results.tokens),
        asks=True,
    ),
    StepKind(
        "overview",
        "03_overview",
        reads=lambda graph: [
            *graph.executed("02_train", graph.profile.trained_runs()),
            *graph.executed("03_explain", graph.shards(graph.profile.explained_runs())),
        ],
        settings=lambda graph: [graph.sections("tasks")],
    ),
    StepKind(
        "pointing_game",
        "04_poerner2018",
        runs=_judging("pointing"),
        reads=_read_judged("poerner", "pointing"),
        settings=_judged_settings("poerner2018", "pointing"),
        judge="pointing",
    ),
    StepKind(
        "agreement",
        "05_kamp2023",
        runs=_judging("agreement"),
        reads=_read_agreement,
        settings=_judged_settings("kamp2023", "agreement"),
        judge="agreement",
    ),
    StepKind(
        "seeds",
        "05_kamp2023_seeds",
        runs=lambda graph: [()] if graph.profile.seed_study or graph.several_seeds else [],
        reads=_read_seeds,
        settings=_seed_settings,
        judge="agreement",
        side_by_side=True,
        asks=True,
    ),
    StepKind(
        "faithfulness",
        "06_zhao2023",
        runs=_judging("faithfulness"),
        reads=_read_judged("zhao", "faithfulness"),
        settings=lambda graph: [
            *_judged_settings("zhao2023", "faithfulness", "explain")(graph),
            _erasure(graph, _runs("faithfulness")(graph)),
        ],
        judge="faithfulness",
        side_by_side=True,
        asks=True,
    ),
    StepKind(
        "explain_types",
        "07_sun2024_explanations",
        runs=lambda graph: graph.parts(_runs("diagnosis")(graph)),
        reads=_read_explaining,
        settings=lambda graph, *run: [graph.sections("diagnosis"), graph.explaining([run[:3]])],
        makes=(Results.typed_attributions, Results.typed_tokens),
        asks=True,
    ),
    StepKind(
        "agents",
        "07_sun2024_agents",
        runs=_runs("diagnosis"),
        reads=lambda graph, *run: [*graph.typed_explanations([run]), *graph.trained([run])],
        settings=lambda graph, task, model, seed: [
            graph.sections("diagnosis", "bootstrap"),
            graph.explaining([(task, model, seed)]),
            graph.profile.training_of(graph.profile.read_by(task), model).model_dump(),
        ],
        asks=True,
    ),
    StepKind(
        "diagnosis",
        "07_sun2024",
        runs=_judging("diagnosis"),
        reads=_read_diagnosis,
        settings=_judged_settings("sun2024", "diagnosis"),
        judge="diagnosis",
        side_by_side=True,
        asks=True,
    ),
    StepKind(
        "joint",
        "08_joint",
        runs=_compared,
        reads=_read_joint,
        settings=lambda graph: [
            graph.sections("agreement", "bootstrap"),
            graph.joint_sections("tasks", "rows", "asked"),
            _erasure(graph, graph.joint),
            graph.explaining(graph.joint),
        ],
        side_by_side=True,
        asks=True,
    ),
    StepKind(
        "joint_models",
        "08_joint_models",
        runs=_compared,
        reads=lambda graph: [
            *graph.executed("08_joint"),
            *graph.executed("07_sun2024", _judging("diagnosis")(graph)),
        ],
        settings=lambda graph: [
            graph.sections("bootstrap"),
            {name: model.architecture for name, model in graph.profile.models.items()},
        ],
    ),
    StepKind(
        "joint_settings",
        "08_joint_settings",
        runs=lambda graph: [()] if graph.explained_again else [],
        reads=lambda graph: [
            *graph.explanations(graph.from_baselines),
            *graph.trained(graph.explained_again),
            *graph.tables_of(graph.explained_again),
        ],
        settings=lambda graph: [
            graph.sections("agreement", "bootstrap"),
            graph.joint_sections("budgets", "limits", "masked", "path_baselines"),
            _erasure(graph, graph.explained_again),
            graph.explaining(graph.explained_again),
        ],
        side_by_side=True,
        asks=True,
    ),
    StepKind(
        "crossed",
        "08_joint_crossed",
        runs=lambda graph: [()] if graph.profile.crossed else [],
        reads=lambda graph: [
            *graph.tables(graph.profile.crossed_profile().read_tasks()),
            *graph.pretrained({run[1] for run in graph.profile.crossed_profile().trained_runs()}),
        ],
        settings=lambda graph: [graph.sections(*OF_CROSSED)],
        side_by_side=True,
        asks=True,
    ),
    StepKind(
        "planted",
        "09_planted",
        reads=lambda graph: [],
        settings=lambda graph: [graph.sections("meta", "bootstrap")],
    ),
)


def expected_steps(profile: Profile) -> list[str]:
    """The name of every step of a whole run, in the order of STEPS."""
    graph = Graph(profile)
    return [step_name(step.notebook, *run) for step in STEPS for run in step.runs(graph)]
