"""The order of things, in one place: every step of a run, what it reads, what it makes, and what makes it run again.

workflow/Snakefile loops over STEPS; manifests, the published run, docs/fidelity.md and the plan read them. A step runs
again when a file that it reads changes, its settings (every value of the profile that it reads), or its code: what the
packages' modules that it imports say, without comments and docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from compendium import project
from compendium.config.profile import Profile, Run
from compendium.corpora import TASKS, WEIGHTS, vectors_file
from compendium.project import Results, step_name
from compendium.workflow.parameters import NOTEBOOKS
from compendium.workflow.staleness import folder_stamp, notebook_digest, stamp_path, weights_stamp

TASK_FACTS = ("title", "labels", "segments", "trained_on", "evidence_from", "splits")  # of TASKS, that steps read
# what training imports with the models, and never runs: a test traces trainings of all architectures
NOT_TRAINED = (
    "attreval.models.captum_deeplift",
    "attreval.models.transformer_deeplift",
    "attreval.models.transformer_lrp",
    "attreval.models.words.relevance_walk",
    *(
        f"attreval.models.questions.{name}"
        for name in ("attention", "cell_parts", "head_importance", "path_gradient", "soft_erasure", "value_zeroing")
    ),
)


@dataclass(frozen=True)
class Graph:
    """The files of one profile's run, and the runs (task, model, seed) by what they are for."""

    profile: Profile

    @cached_property
    def results(self) -> Results:
        """The folders of the profile's results."""
        return project.results(self.profile.name)

    @cached_property
    def joint(self) -> list[Run]:
        """The explained runs that go before every metric."""
        rows_of, rows = self.profile.joint.rows_of, self.profile.rows_explained
        return [run for run in self.profile.explained_runs() if rows_of(run[0], rows(*run[:2]))]

    @cached_property
    def asked_anew(self) -> list[Run]:
        """The runs whose models notebook 08 asks questions that no earlier notebook has asked."""
        spec, explained = self.profile.joint, self.profile.explained_runs()
        budgets = [run for run in explained if run[0] in spec.budgets.tasks]
        return [
            *self.joint,
            *budgets,
            *self.profile.first_runs(spec.limits.tasks),
            *self.from_baselines,
            *self.profile.twin_runs(),
        ]

    @cached_property
    def from_baselines(self) -> list[Run]:
        """The runs that integrate gradients from every baseline."""
        return [run for run in self.profile.explained_runs() if run[0] in self.profile.joint.path_baselines]

    @cached_property
    def several_seeds(self) -> list[Run]:
        """The explained runs of the tasks that have several seeds of a model."""
        return [run for run in self.profile.explained_runs("agreement") if len(self.profile.tasks[run[0]].seeds) > 1]

    def models_of(self, runs: Iterable[Run]) -> list[Run]:
        """The trained models that read the instances of these runs, each once."""
        return sorted({(self.profile.read_by(task), model, seed) for task, model, seed in runs})

    def shards(self, runs: Iterable[Run]) -> list[tuple]:
        """(task, model, seed, shard) of every shard of these runs."""
        return [(*run, shard) for run in runs for shard in range(self.profile.explaining_of(run[0]).shards)]

    def parts(self, runs: Iterable[Run]) -> list[tuple]:
        """(task, model, seed, part) of every part of the diagnosis of these runs."""
        return [(*run, part) for run in runs for part in range(self.profile.diagnosis.parts)]

    # files

    def executed(self, notebook: str, runs: Iterable[tuple] = ((),)) -> list[Path]:
        """The executed copies of a notebook, and the records of its runs."""
        names = [step_name(notebook, *run) for run in runs]
        return [path for name in names for path in (self.results.executed(name), self.results.record(name))]

    def tables(self, tasks: Iterable[str]) -> list[Path]:
        """A small file for each task, whose content changes when the task's table does."""
        return [stamp_path(task) for task in dict.fromkeys(tasks)]

    def tables_of(self, runs: Iterable[Run]) -> list[Path]:
        """The tables that these runs explain, and those that people's marks are taken from."""
        evidence = [task for task in self.profile.read_tasks() if task not in self.profile.tasks]
        return self.tables([*sorted({run[0] for run in runs}), *evidence])

    def pretrained(self, models: Iterable[str]) -> list[Path]:
        """A small file for all that these models start from: of the registry, folders, and files of word vectors."""
        specs = [self.profile.models[model] for model in models]
        named = {name for s in specs for name in (s.weights, s.tokenizer, s.start, s.embeddings)} - {None}
        folders = sorted(name for name in named if Path(name).is_absolute() and Path(name).is_dir())
        own = sorted({s.embeddings for s in specs} - {None, "glove"})
        stamps = [weights_stamp(name) for name in sorted(named & set(WEIGHTS))]
        return [*stamps, *map(folder_stamp, folders), *map(vectors_file, own)]

    def trained(self, runs: Iterable[Run]) -> list[Path]:
        """The trained models that read these runs' instances."""
        return [self.results.model(*run) / "model.safetensors" for run in self.models_of(runs)]

    def accuracies(self, runs: Iterable[Run]) -> list[Path]:
        """What training these runs' models left: how right they are."""
        return self.executed("02_train", self.models_of(runs))

    def explanations(self, runs: Iterable[Run]) -> list[Path]:
        """The attributions of these runs, and the tokens that they speak of."""
        of = self.results
        return [path(*shard) for shard in self.shards(runs) for path in (of.attributions, of.tokens)]

    def typed_explanations(self, runs: Iterable[Run]) -> list[Path]:
        """The same of units, pairs and spans."""
        of = self.results
        return [path(*part) for part in self.parts(runs) for path in (of.typed_attributions, of.typed_tokens)]

    def reported(self, paper: str) -> list[Path]:
        """What a paper published."""
        return sorted((project.home() / "paper" / "reported").glob(f"{paper}_*.csv"))

    # settings

    @cached_property
    def _claims(self) -> list[dict]:
        path = project.home() / "paper" / "claims.yml"
        return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []

    def claims(self, paper: str) -> list[dict]:
        """What a paper claims. What a claim is called, and why it does not hold, decides nothing."""
        of_paper = [claim for claim in self._claims if claim["paper"] == paper]
        return [{key: claim[key] for key in claim if key not in ("title", "reasons")} for claim in of_paper]

    def sections(self, *names: str) -> dict[str, Any]:
        """These sections of the profile, and how many threads its sums are taken by."""
        return self.profile.model_dump(include={*names, "threads"})

    def explaining(self, runs: Iterable[Run]) -> list[list]:
        """What decides over the explanations of these runs."""
        given, files = self.profile, self.sections("attributions")
        return [
            [*run, given.models[run[1]].model_dump(), given.explaining_of(run[0]).model_dump()]
            + [given.rows_explained(*run[:2]), given.tasks[run[0]].examples, files]
            for run in runs
        ]

    def training(self, task: str, model: str) -> list[dict]:
        """What decides over the weights of a model."""
        rows = {"train_rows", "dev_rows", "test_rows", "also_train"}
        given = self.profile
        return [
            given.training_of(task, model).model_dump(),
            given.models[model].model_dump(),
            given.task_of(task, model).model_dump(include=rows),
        ]


@dataclass(frozen=True)
class Step:
    """A kind of step: a rule of the workflow that runs one notebook, once or for each of its runs.

    runs: what it runs for in a profile, [()] where it runs once, [] where the profile has nothing for it. reads: the
    files of one run besides the notebook; settings: the values of the profile that it uses. makes: its files besides
    the executed copy and the record. judge: whose explained runs it reads. side_by_side: it starts a process for each
    of the profile's workers. asks: it runs models, and takes an accelerator. not_run: modules that it imports but never
    runs.
    """

    rule: str
    notebook: str
    runs: Callable[[Graph], list[tuple]]
    reads: Callable[..., list[Path]]
    settings: Callable[..., list]
    makes: tuple[Callable[..., Path], ...] = ()
    judge: str = ""
    side_by_side: bool = False
    asks: bool = False
    not_run: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The parameters that tell its runs apart; none where it runs once."""
        return NOTEBOOKS[self.notebook].identity

    def names(self, graph: Graph) -> list[str]:
        """The names of its runs."""
        return [step_name(self.notebook, *run) for run in self.runs(graph)]

    def read_files(self, graph: Graph, *run: Any) -> list[str]:
        """Every file that one run reads."""
        return [str(project.home() / "notebooks" / f"{self.notebook}.ipynb"), *map(str, self.reads(graph, *run))]

    def made_files(self, graph: Graph, *run: Any) -> list[str]:
        """Every file that one run makes; of its wildcards, a pattern."""
        made = [path(graph.results, *run) for path in self.makes]
        return [*map(str, graph.executed(self.notebook, [run])), *map(str, made)]

    def state(self, graph: Graph, *run: Any) -> list:
        """What makes one run stale when it changes, besides files: settings, what is known of its tasks, and code."""
        tasks = [run[0], graph.profile.read_by(run[0])] if run else graph.profile.read_tasks()
        facts = {task: [getattr(TASKS[task], name) for name in TASK_FACTS] for task in tasks}
        return [self.settings(graph, *run), facts, self.code]

    @cached_property
    def code(self) -> str:
        """A digest of what it runs of the packages."""
        return notebook_digest(self.notebook, self.not_run)


def _once(graph: Graph) -> list[tuple]:
    """The runs of a step that every profile has, once."""
    return [()]


def _judging(judge: str) -> Callable[[Graph], list[tuple]]:
    """The runs of a step that runs once where the profile has explanations for a judge."""
    return lambda graph: [()] if graph.profile.explained_runs(judge) else []


def _runs(judge: str) -> Callable[[Graph], list[Run]]:
    """The explained runs of a judge."""
    return lambda graph: graph.profile.explained_runs(judge)


def _read_train(graph: Graph, task: str, model: str, seed: int) -> list[Path]:
    also = graph.profile.task_of(task, model).also_train
    return [*graph.tables([task, *also]), *graph.pretrained([model])]


def _read_explaining(graph: Graph, *run: Any) -> list[Path]:
    return [*graph.tables(run[:1]), *graph.trained([run[:3]])]


def _read_overview(graph: Graph) -> list[Path]:
    explained = graph.executed("03_explain", graph.shards(graph.profile.explained_runs()))
    return [*graph.executed("02_train", graph.profile.trained_runs()), *explained]


def _read_judged(paper: str, judge: str, trained: bool = False) -> Callable[[Graph], list[Path]]:
    """What a judge of stored explanations reads. trained: the models, too."""

    def read(graph: Graph) -> list[Path]:
        runs = graph.profile.explained_runs(judge)
        models = graph.trained(runs) if trained else []
        stored = [*graph.explanations(runs), *models, *graph.accuracies(runs), *graph.tables_of(runs)]
        return [*stored, *graph.reported(paper)]

    return read


def _judged_settings(paper: str, judge: str, *more: str) -> Callable[[Graph], list]:
    """What decides over a paper's notebook: its claims, how its judge is set, and what explained its runs."""
    sections = (judge, "bootstrap", *more)
    return lambda graph: [graph.claims(paper), graph.sections(*sections), graph.explaining(_runs(judge)(graph))]


def _read_agreement(graph: Graph) -> list[Path]:
    chosen = graph.profile.agreement.runs == "lowest_apd" and graph.several_seeds
    return [
        *_read_judged("kamp", "agreement")(graph),
        *(graph.executed("05_kamp2023_seeds") if chosen else []),
    ]


def _read_seeds(graph: Graph) -> list[Path]:
    study = graph.profile.seed_study
    own = [*graph.tables([study.task]), *graph.pretrained([study.model])] if study else []
    stored = [*graph.explanations(graph.several_seeds), *graph.accuracies(graph.several_seeds)]
    return [*own, *stored, *graph.reported("kamp")]


def _seed_settings(graph: Graph) -> list:
    given = graph.profile
    study = [given.study_training().model_dump(), given.study_explaining().model_dump()] if given.seed_study else []
    return [graph.sections("seed_study", "agreement", "models"), *study, graph.explaining(graph.several_seeds)]


def _erasure(graph: Graph, runs: Iterable[Run]) -> list[dict]:
    """How faithfulness is judged on these runs."""
    return [graph.profile.faithfulness_of(run[0]).model_dump() for run in runs]


def _read_agents(graph: Graph, *run: Any) -> list[Path]:
    return [*graph.typed_explanations([run]), *graph.trained([run])]


def _agent_settings(graph: Graph, task: str, model: str, seed: int) -> list:
    training = graph.profile.training_of(graph.profile.read_by(task), model).model_dump()
    return [graph.sections("diagnosis", "bootstrap"), graph.explaining([(task, model, seed)]), training]


def _read_diagnosis(graph: Graph) -> list[Path]:
    runs = graph.profile.explained_runs("diagnosis")
    own = [*graph.typed_explanations(runs), *graph.trained(runs), *graph.accuracies(runs), *graph.tables_of(runs)]
    return [*own, *graph.executed("07_sun2024_agents", runs), *graph.reported("sun")]


def _read_joint(graph: Graph) -> list[Path]:
    runs = graph.asked_anew
    stored = graph.explanations(dict.fromkeys([*graph.joint, *graph.from_baselines]))
    before = [
        step for step in STEPS if step.rule in ("pointing_game", "faithfulness", "explain_types", "agents", "diagnosis")
    ]
    return [
        *stored,
        *graph.trained(runs),
        *graph.tables_of(runs),
        *graph.executed("03_explain", graph.shards(graph.joint)),
        *(path for step in before for path in graph.executed(step.notebook, step.runs(graph))),
    ]


def _joint_settings(graph: Graph) -> list:
    own = graph.sections("joint", "agreement", "pointing", "bootstrap")
    return [own, _erasure(graph, graph.asked_anew), graph.explaining(graph.asked_anew)]


STEPS = (
    Step(
        "data",
        "01_data",
        runs=_once,
        reads=lambda graph: graph.tables(graph.profile.read_tasks()),
        settings=lambda graph: [list(graph.profile.tasks)],
    ),
    Step(
        "train",
        "02_train",
        runs=lambda graph: graph.profile.trained_runs(),
        reads=_read_train,
        settings=lambda graph, task, model, seed: [*graph.training(task, model), graph.sections("bootstrap")],
        makes=(lambda results, *run: results.model(*run) / "model.safetensors",),
        asks=True,
        not_run=NOT_TRAINED,
    ),
    Step(
        "explain",
        "03_explain",
        runs=lambda graph: graph.shards(graph.profile.explained_runs()),
        reads=_read_explaining,
        settings=lambda graph, *run: [graph.explaining([run[:3]]), graph.sections()],
        makes=(Results.attributions, Results.tokens),
        asks=True,
    ),
    Step(
        "overview",
        "03_overview",
        runs=_once,
        reads=_read_overview,
        settings=lambda graph: [graph.sections("tasks")],
    ),
    Step(
        "pointing_game",
        "04_poerner2018",
        runs=_judging("pointing"),
        reads=_read_judged("poerner", "pointing"),
        settings=_judged_settings("poerner2018", "pointing"),
        judge="pointing",
    ),
    Step(
        "agreement",
        "05_kamp2023",
        runs=_judging("agreement"),
        reads=_read_agreement,
        settings=_judged_settings("kamp2023", "agreement"),
        judge="agreement",
    ),
    Step(
        "seeds",
        "05_kamp2023_seeds",
        runs=lambda graph: [()] if graph.profile.seed_study or graph.several_seeds else [],
        reads=_read_seeds,
        settings=_seed_settings,
        judge="agreement",
        side_by_side=True,
        asks=True,
    ),
    Step(
        "faithfulness",
        "06_zhao2023",
        runs=_judging("faithfulness"),
        reads=_read_judged("zhao", "faithfulness", trained=True),
        settings=lambda graph: [
            *_judged_settings("zhao2023", "faithfulness", "explain")(graph),
            _erasure(graph, _runs("faithfulness")(graph)),
        ],
        judge="faithfulness",
        side_by_side=True,
        asks=True,
    ),
    Step(
        "explain_types",
        "07_sun2024_explanations",
        runs=lambda graph: graph.parts(_runs("diagnosis")(graph)),
        reads=_read_explaining,
        settings=lambda graph, *run: [graph.sections("diagnosis"), graph.explaining([run[:3]])],
        makes=(Results.typed_attributions, Results.typed_tokens),
        asks=True,
    ),
    Step(
        "agents",
        "07_sun2024_agents",
        runs=_runs("diagnosis"),
        reads=_read_agents,
        settings=_agent_settings,
        asks=True,
    ),
    Step(
        "diagnosis",
        "07_sun2024",
        runs=_judging("diagnosis"),
        reads=_read_diagnosis,
        settings=_judged_settings("sun2024", "diagnosis"),
        judge="diagnosis",
        side_by_side=True,
        asks=True,
    ),
    Step(
        "joint",
        "08_joint",
        runs=lambda graph: [()] if graph.joint or _runs("diagnosis")(graph) else [],
        reads=_read_joint,
        settings=_joint_settings,
        side_by_side=True,
        asks=True,
    ),
    Step(
        "planted",
        "09_planted",
        runs=_once,
        reads=lambda graph: [],
        settings=lambda graph: [graph.sections("meta", "bootstrap")],
    ),
)
JUDGES = {step.notebook: step.judge for step in STEPS if step.judge}  # notebook -> the judge whose runs it reads


def expected_steps(profile: Profile) -> list[str]:
    """The name of every step of a whole run, in the order of STEPS."""
    graph = Graph(profile)
    return [name for step in STEPS for name in step.names(graph)]


def steps_before(profile: Profile, notebook: str) -> list[str]:
    """The steps that a paper's notebook rests on: training, and explaining; 07 explains by itself."""
    graph, judge = Graph(profile), JUDGES[notebook]
    runs = profile.explained_runs(judge)
    trained = [step_name("02_train", *run) for run in graph.models_of(runs)]
    if judge != "diagnosis":
        return [*trained, *(step_name("03_explain", *shard) for shard in graph.shards(runs))]
    own = [step for step in STEPS if step.rule in ("explain_types", "agents")]
    return [*trained, *(name for step in own for name in step.names(graph))]
