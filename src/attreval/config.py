"""Profiles: one validated schema for config/*.yaml; an unknown key or profile is an error that names the allowed."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from attreval import project

Precision = Literal["auto", "float32", "bfloat16"]
Ratio = Annotated[float, Field(gt=0, le=1)]
Judge = Literal["pointing", "agreement", "faithfulness"]
Run = tuple[str, str, int]  # task, model, seed


class Section(BaseModel):
    """A part of a profile; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSpec(Section):
    """A model: pretrained weights (a registry name, a local folder or a hub name), or a small one from scratch.

    labels: the classes of weights that are used as they are, in index order, where their own names do not say.
    position_start: the first position, for RoBERTa and MPNet; the released code of Zhao & Aletras (2023) counts from 0.
    Word-level architectures: hidden counts units a direction (filters for cnn), embeddings where words start from,
    kernel words in a window (qgru, qlstm, cnn), vocabulary words with the two reserved; order: see models.quasi.
    training: what to change in the profile's training for this model; a task's own changes go before.
    """

    architecture: Literal["transformer", "gru", "lstm", "qgru", "qlstm", "cnn"] = "transformer"
    weights: str | None = None
    tokenizer: str | None = None
    layers: int | None = Field(None, ge=1)
    hidden: int | None = Field(None, ge=4)
    heads: int | None = Field(None, ge=1)
    max_length: int = Field(128, ge=8)
    labels: list[str] | None = None
    position_start: int | None = Field(None, ge=0)
    bidirectional: bool = True
    embeddings: Literal["glove"] | None = None
    embedding_size: int = Field(300, ge=1)
    kernel: int = Field(5, ge=1)
    dropout: float = Field(0.5, ge=0, lt=1)
    gate: Literal["logistic", "hard_sigmoid"] = "logistic"
    vocabulary: int = Field(50_000, ge=3)
    order: Literal["turn_first", "convolve_first"] = "turn_first"
    training: dict[str, Any] = {}

    @model_validator(mode="after")
    def one_origin(self):
        if self.architecture != "transformer":
            given = [
                name
                for name in ("weights", "tokenizer", "layers", "heads", "position_start")
                if getattr(self, name) is not None
            ]
            if given or self.hidden is None:
                raise ValueError(f"a {self.architecture} needs `hidden`, and no {', '.join(given) or 'weights'}")
            return self
        sizes = [self.layers, self.hidden, self.heads]
        if (self.weights is None) == (None in sizes) or (self.weights is None and self.tokenizer is None):
            raise ValueError("give either `weights`, or all of `layers`, `hidden`, `heads` and `tokenizer`")
        return self


class AlsoTrain(Section):
    """Instances of another task with the same labels that are added to train, cut to their last words."""

    rows: int = Field(ge=1)
    last_words: int = Field(ge=1)


class TaskSpec(Section):
    """How much of a corpus is used, and by which models. `train_rows: 0` explains the weights as they are.

    A task that is read by the models of another one (hybrid_bbc by those of bbc) has no train, dev and test rows.
    explain_rows 0: models are trained, for another task to use. judges: before whom the explanations go.
    explain_rows_of: fewer rows for models that are slow to explain. also_train: tasks to train on as well, the task
    itself among them. training, explain, faithfulness: what to change in the profile's for this task.
    of_model: what is otherwise for one of the models (its rows, judges, also_train and training).
    """

    models: list[str] = Field(min_length=1)
    seeds: list[int] = [1]
    train_rows: int | None = Field(None, ge=0)
    dev_rows: int | None = Field(None, ge=0)
    test_rows: int | None = Field(None, ge=1)
    explain_rows: int = Field(ge=0)
    explain_rows_of: dict[str, Annotated[int, Field(ge=1)]] = {}
    judges: list[Judge] = ["agreement", "faithfulness"]
    also_train: dict[str, AlsoTrain] = {}
    training: dict[str, Any] = {}
    explain: dict[str, Any] = {}
    faithfulness: dict[str, Any] = {}
    of_model: dict[str, dict[str, Any]] = {}

    @model_validator(mode="after")
    def known_changes(self):
        for model, changes in self.of_model.items():
            if model not in self.models:
                raise ValueError(f"of_model names {model!r}; the models are: {', '.join(self.models)}")
            if unknown := [name for name in changes if name not in OF_MODEL]:
                raise ValueError(f"of_model.{model}: unknown key {unknown[0]!r}; allowed are: {', '.join(OF_MODEL)}")
        return self


OF_MODEL = ("train_rows", "dev_rows", "test_rows", "explain_rows", "judges", "also_train", "training")


class TrainingSpec(Section):
    """Fine-tuning: AdamW, linear warm-up and decay, early stopping on the loss on dev.

    averaging: decay of the running average of the weights that is checked and kept, 0 for the weights themselves.
    schedule `halving`: no warm-up, and half the rate after every `halve_after` checks on dev without a better one.
    watch: what is compared on dev. With weight_decay 0, AdamW is Adam. tokens: cut train and dev texts to so many; what
    is tested and explained keeps the model's max_length.
    """

    epochs: int = Field(1, ge=1)
    batch_rows: int = Field(32, ge=1)
    learning_rate: float = Field(1e-4, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    warmup: float = Field(0.1, ge=0, le=1)
    evaluations_per_epoch: int = Field(4, ge=1)
    patience: int = Field(3, ge=1)
    schedule: Literal["linear", "halving"] = "linear"
    halve_after: int = Field(2, ge=1)
    watch: Literal["loss", "accuracy"] = "loss"
    averaging: float = Field(0.0, ge=0, lt=1)
    precision: Precision = "auto"
    tokens: int | None = Field(None, ge=8)


class ExplainSpec(Section):
    """Which methods explain, and what they may spend."""

    methods: list[str] = Field(min_length=1)
    target: Literal["predicted", "gold"] = "predicted"
    path_steps: int = Field(50, ge=1)
    path_steps_most: int = Field(50, ge=1)
    gap_tolerance: float = Field(0.02, gt=0)
    lime_samples: int = Field(5000, ge=2)
    lime_kernel_width: float = Field(25.0, gt=0)
    riemann_steps: int = Field(50, ge=1)
    limsse_samples: int = Field(3000, ge=1)
    limsse_sampling: Literal["exhaustive", "random"] = "exhaustive"
    limsse_solver: Literal["descent", "exact"] = "descent"
    limsse_epochs: int = Field(1000, ge=1)
    decomposition_output_gate: bool = True
    shards: int = Field(1, ge=1)
    token_budget: int | None = Field(None, ge=1)
    perturbation_precision: Precision = "auto"

    @model_validator(mode="after")
    def known_methods(self):
        from attreval.explain import METHODS

        if unknown := [name for name in self.methods if name not in METHODS]:
            raise ValueError(f"unknown method {unknown[0]!r}; there are: {', '.join(METHODS)}")
        if len(set(self.methods)) < len(self.methods):
            raise ValueError("a method is named twice")
        return self


class AgreementSpec(Section):
    """agreement@k for k = 1..largest_k."""

    largest_k: int = Field(10, ge=1)


class PointingSpec(Section):
    """The pointing game. ties: by expectation, or to the first, as the original. affix: see judge.pointing."""

    ties: Literal["expectation", "first"] = "expectation"
    affix: Literal["code", "paper", "both"] = "code"


class FaithfulnessSpec(Section):
    """Erasure at these rationale ratios, and soft erasure of the scores of `methods`, each with `draws` random masks.

    scale_rows: on how many of a task's first instances it is measured whether the scale of scores decides, by rivals
    and masks of equal scale. control_rows: on how many everything else that could be done otherwise is measured (the
    released code, other norms, the paper's alternatives). control_draws: random masks in both. noise_variances: of the
    multiplicative noise.
    """

    ratios: list[Ratio] = [0.01, 0.05, 0.1, 0.2, 0.5]
    methods: list[str] = [
        "random",
        "attention",
        "scaled_attention",
        "gradient_x_input_absolute",
        "integrated_gradients_zero",
        "deeplift",
    ]
    draws: int = Field(4, ge=1)
    scale_rows: int = Field(0, ge=0)
    control_rows: int = Field(0, ge=0)
    control_draws: int = Field(1, ge=1)
    noise_variances: list[Annotated[float, Field(gt=0)]] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0]

    @model_validator(mode="after")
    def known_methods(self):
        ExplainSpec(methods=self.methods)
        if "random" not in self.methods:
            raise ValueError("methods need `random`: diagnosticity is a comparison with it")
        return self


class BootstrapSpec(Section):
    """Percentile bootstrap over instances."""

    draws: int = Field(1000, ge=1)
    level: float = Field(0.95, gt=0, lt=1)


class Profile(Section):
    """One profile, whole. threads: of a process; workers: processes of a step that judges."""

    name: str
    seed: int = 0
    threads: int = Field(1, ge=1)
    workers: int = Field(1, ge=1)
    device: str = "auto"
    models: dict[str, ModelSpec]
    tasks: dict[str, TaskSpec]
    training: TrainingSpec = TrainingSpec()
    explain: ExplainSpec
    pointing: PointingSpec = PointingSpec()
    agreement: AgreementSpec = AgreementSpec()
    faithfulness: FaithfulnessSpec = FaithfulnessSpec()
    bootstrap: BootstrapSpec = BootstrapSpec()

    @model_validator(mode="after")
    def known_names(self):
        from attreval.corpora import TASKS

        for task, spec in self.tasks.items():
            if task not in TASKS:
                raise ValueError(f"unknown task {task!r}; there are: {', '.join(TASKS)}")
            if missing := [name for name in spec.models if name not in self.models]:
                raise ValueError(f"task {task!r} asks for model {missing[0]!r}; defined are: {', '.join(self.models)}")
            for other in spec.also_train:
                if other not in TASKS or TASKS[other].labels != TASKS[task].labels:
                    fit = [n for n, t in TASKS.items() if t.labels == TASKS[task].labels and n != task]
                    raise ValueError(
                        f"task {task!r} cannot also train on {other!r}; it can on: {', '.join(fit) or 'none'}"
                    )
            check_keys(f"task {task!r}", "training", spec.training, TrainingSpec)
            check_keys(f"task {task!r}", "explain", spec.explain, ExplainSpec)
            check_keys(f"task {task!r}", "faithfulness", spec.faithfulness, FaithfulnessSpec)
            for model in spec.models:
                check_keys(f"model {model!r}", "training", self.models[model].training, TrainingSpec)
                check_keys(f"task {task!r}", "training", self.task_of(task, model).training, TrainingSpec)
                self.training_of(task, model)
            self.explaining_of(task), self.faithfulness_of(task)
            self.check_rows(task)
        return self

    def check_rows(self, task: str) -> None:
        """Raise ValueError where a task lacks the models that read it, or the rows that train them."""
        spec, parent = self.tasks[task], self.read_by(task)
        given = [name for name in ("train_rows", "dev_rows", "test_rows") if getattr(spec, name) is not None]
        if unknown := [name for name in spec.explain_rows_of if name not in spec.models]:
            raise ValueError(f"task {task!r}: explain_rows_of names {unknown[0]!r}; its models are {spec.models}")
        if parent == task:
            if len(given) < 3:
                raise ValueError(f"task {task!r} needs train_rows, dev_rows and test_rows; it has {given}")
            return
        if given:
            raise ValueError(f"task {task!r} is read by the models of {parent!r}: it takes no {given[0]}")
        read = self.tasks.get(parent)
        for name, values in (("models", spec.models), ("seeds", spec.seeds)):
            there = getattr(read, name) if read else []
            if missing := [value for value in values if value not in there]:
                raise ValueError(
                    f"task {task!r} is read by the models of {parent!r}, whose {name} are {there}; got {missing[0]!r}"
                )

    def read_tasks(self) -> list[str]:
        """Every task whose table is read: those of the profile, and those that they also train on."""
        used = [self.task_of(task, model) for task, spec in self.tasks.items() for model in spec.models]
        return list(dict.fromkeys([*self.tasks, *(other for spec in used for other in spec.also_train)]))

    def task_of(self, task: str, model: str) -> TaskSpec:
        """How much of a task is used with one of its models, and how that is trained."""
        spec = self.tasks[task]
        changes = spec.of_model.get(model, {})
        training = spec.training | changes.get("training", {})
        return TaskSpec.model_validate(spec.model_dump() | changes | {"training": training})

    def training_of(self, task: str, model: str) -> TrainingSpec:
        """How a model is trained on a task: the profile's training with the model's and then the task's changes."""
        changes = self.models[model].training | self.task_of(task, model).training
        return TrainingSpec(**(self.training.model_dump() | changes))

    def faithfulness_of(self, task: str) -> FaithfulnessSpec:
        """How faithfulness is judged on a task: the profile's way with the task's own changes."""
        return FaithfulnessSpec(**(self.faithfulness.model_dump() | self.tasks[task].faithfulness))

    def explaining_of(self, task: str) -> ExplainSpec:
        """How a task is explained: the profile's way with the task's own changes."""
        return ExplainSpec(**(self.explain.model_dump() | self.tasks[task].explain))

    def rows_explained(self, task: str, model: str) -> int:
        """How many test instances of a task a model is explained on."""
        spec = self.task_of(task, model)
        return min(spec.explain_rows, spec.explain_rows_of.get(model, spec.explain_rows))

    def read_by(self, task: str) -> str:
        """The task whose models read a task's instances: its own, or the one that they are made from."""
        from attreval.corpora import TASKS

        return TASKS[task].trained_on or task

    def trained_runs(self) -> list[Run]:
        """Every model that is trained, or taken as it is."""
        return [run for task, spec in self.tasks.items() if self.read_by(task) == task for run in all_runs(task, spec)]

    def explained_runs(self, judge: Judge | None = None) -> list[Run]:
        """Every run whose predictions are explained, or those that go before one judge."""
        runs = [run for task, spec in self.tasks.items() for run in all_runs(task, spec)]
        used = {run: self.task_of(*run[:2]) for run in runs}
        return [run for run in runs if used[run].explain_rows and (judge is None or judge in used[run].judges)]


def check_keys(whose: str, part: str, given: dict, schema: type[Section]) -> None:
    """Raise ValueError for a key that a section does not have."""
    if unknown := [name for name in given if name not in schema.model_fields]:
        allowed = ", ".join(schema.model_fields)
        raise ValueError(f"{whose}: unknown {part} key {unknown[0]!r}; allowed are: {allowed}")


def all_runs(task: str, spec: TaskSpec) -> list[Run]:
    """(task, model, seed) of every model and seed of a task."""
    return [(task, model, seed) for model in spec.models for seed in spec.seeds]


def profiles() -> list[str]:
    """The names of the profiles in config/."""
    return sorted(path.stem for path in (project.home() / "config").glob("*.yaml"))


def path_of(profile: str) -> Path:
    """The file of a profile: `config/<profile>.yaml`, or `profile` itself if that ends in .yaml."""
    given = Path(profile)
    return given.resolve() if given.suffix in (".yaml", ".yml") else project.home() / "config" / f"{profile}.yaml"


def load(profile: str) -> Profile:
    """Read and check a profile, by name or path. Raises ValueError that says what is wrong and what is allowed."""
    path = path_of(profile)
    if not path.exists():
        names = profiles()
        near = difflib.get_close_matches(profile, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown profile {profile!r}; there are: {', '.join(names)}{hint}")
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not valid YAML: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} holds no profile: a mapping of {', '.join(Profile.model_fields)} is needed")
    try:
        return Profile.model_validate(found)
    except ValidationError as error:
        lines = [explain_error(problem) for problem in error.errors()]
        raise ValueError(f"{path.name} is not a valid profile:\n  " + "\n  ".join(lines)) from None


def explain_error(problem: dict, root: type[BaseModel] = Profile) -> str:
    """One pydantic problem as one sentence, with the allowed keys where a key is unknown."""
    where = ".".join(str(part) for part in problem["loc"]) or root.__name__.lower()
    if problem["type"] != "extra_forbidden":
        return f"{where}: {problem['msg'].removeprefix('Value error, ')} (got {problem['input']!r})"[:1200]
    section = root
    for part in problem["loc"][:-1]:
        options = [f.annotation for name, f in section.model_fields.items() if name == part]
        for option in options:
            args = [option, *getattr(option, "__args__", ())]
            section = next((a for a in args if isinstance(a, type) and issubclass(a, BaseModel)), section)
    return f"{where}: unknown key; allowed are: {', '.join(section.model_fields)}"
