"""Profiles: one validated schema for config/*.yaml; an unknown key or profile is an error that names the allowed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from attreval.agreement_settings import AgreementSpec, SeedStudySpec
from attreval.profile_checks import check_keys, check_rows, explain_error
from attreval.profile_files import path_of, profiles, read_mapping

__all__ = ["Profile", "load", "path_of", "profiles"]  # and every section

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
            given = [name for name in ("weights", "tokenizer", "layers", "heads") if getattr(self, name) is not None]
            if given or self.hidden is None:
                raise ValueError(f"a {self.architecture} needs `hidden`, and no weights, tokenizer, layers, heads")
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
    itself among them. training, explain: what to change in the profile's for this task.
    examples: ids of test instances that are explained besides, to be shown. optional: left out, and said to be, where
    its files from outside the registry are not at hand.
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
    examples: list[str] = []
    optional: bool = False


class TrainingSpec(Section):
    """Fine-tuning: AdamW, linear warm-up and decay, early stopping on the loss on dev.

    averaging: decay of the running average of the weights that is checked and kept, 0 for the weights themselves.
    schedule `halving`: no warm-up, and half the rate after every `halve_after` checks on dev without a better one.
    watch: what is compared on dev. With weight_decay 0, AdamW is Adam.
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


class ExplainSpec(Section):
    """Which methods explain, and what they may spend."""

    methods: list[str] = Field(min_length=1)
    target: Literal["predicted", "gold"] = "predicted"
    path_steps: int = Field(50, ge=1)
    path_steps_most: int = Field(50, ge=1)
    gap_tolerance: float = Field(0.02, gt=0)
    lime_samples: int = Field(5000, ge=2)
    lime_kernel_width: float = Field(25.0, gt=0)
    shap_evaluations: int = Field(500, ge=4)
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


class PointingSpec(Section):
    """The pointing game. ties: by expectation, or to the first, as the original. affix: see judge.pointing."""

    ties: Literal["expectation", "first"] = "expectation"
    affix: Literal["code", "paper", "both"] = "code"


class FaithfulnessSpec(Section):
    """Erasure at these rationale ratios."""

    ratios: list[Ratio] = [0.01, 0.05, 0.1, 0.2, 0.5]


class BootstrapSpec(Section):
    """Percentile bootstrap over instances."""

    draws: int = Field(1000, ge=1)
    level: float = Field(0.95, gt=0, lt=1)


class Profile(Section):
    """One profile, whole. threads: of a process; workers: processes of a step that judges.

    left_out: the optional tasks that are not at hand; loading a profile sets it.
    """

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
    seed_study: SeedStudySpec | None = None
    left_out: list[str] = []

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
            for model in spec.models:
                check_keys(f"model {model!r}", "training", self.models[model].training, TrainingSpec)
                self.training_of(task, model)
            self.explaining_of(task)
            check_rows(self, task)
        if self.seed_study:
            self.seed_study.check(self.models, TASKS)
            self.study_training(), self.study_explaining()
        return self

    def read_tasks(self) -> list[str]:
        """Every task whose table is read: those of the profile, and those that they also train on."""
        studied = [self.seed_study.task] if self.seed_study else []
        trained = [other for spec in self.tasks.values() for other in spec.also_train]
        return list(dict.fromkeys([*self.tasks, *trained, *studied]))

    def training_of(self, task: str, model: str) -> TrainingSpec:
        """How a model is trained on a task: the profile's training with the model's and then the task's changes."""
        changes = self.models[model].training | self.tasks[task].training
        return TrainingSpec(**(self.training.model_dump() | changes))

    def explaining_of(self, task: str) -> ExplainSpec:
        """How a task is explained: the profile's way with the task's own changes."""
        return ExplainSpec(**(self.explain.model_dump() | self.tasks[task].explain))

    def study_training(self) -> TrainingSpec:
        """How the models of the study of seeds are trained."""
        changes = self.models[self.seed_study.model].training | self.seed_study.training
        return TrainingSpec(**(self.training.model_dump() | changes))

    def study_explaining(self) -> ExplainSpec:
        """How they are explained."""
        own = self.seed_study.explain | {"methods": self.seed_study.methods}
        return ExplainSpec(**(self.explain.model_dump() | own))

    def rows_explained(self, task: str, model: str) -> int:
        """How many test instances of a task a model is explained on."""
        spec = self.tasks[task]
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
        chosen = {t: s for t, s in self.tasks.items() if s.explain_rows and (judge is None or judge in s.judges)}
        return [run for task, spec in chosen.items() for run in all_runs(task, spec)]


def all_runs(task: str, spec: TaskSpec) -> list[Run]:
    """(task, model, seed) of every model and seed of a task."""
    return [(task, model, seed) for model in spec.models for seed in spec.seeds]


def load(profile: str) -> Profile:
    """Read and check a profile, by name or path, without its optional tasks that are not at hand.

    Raises ValueError that says what is wrong and what is allowed.
    """
    from attreval import corpora

    path, found = read_mapping(profile, Profile.model_fields)
    try:
        profile = Profile.model_validate(found)
        gone = [task for task, spec in profile.tasks.items() if spec.optional and not corpora.at_hand(task)]
        kept = {task: spec for task, spec in profile.tasks.items() if task not in gone}
        return profile.model_copy(update={"tasks": kept, "left_out": gone})
    except ValidationError as error:
        lines = [explain_error(problem, Profile) for problem in error.errors()]
        raise ValueError(f"{path.name} is not a valid profile:\n  " + "\n  ".join(lines)) from None
