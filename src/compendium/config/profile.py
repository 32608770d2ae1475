"""Profiles: one validated schema for config/*.yaml; an unknown key is an error.

Contradictions, such as what is asked of explanations that cannot judge them, are found before
anything is trained. Each is a ValueError that names the task, what came, and what would do.
"""

import re
from collections.abc import Iterable
from typing import Self, get_args

from pydantic import BaseModel, field_validator, model_validator

from attreval.core.section import Count, Section
from attreval.methods import METHODS, TECHNIQUES, methods_for
from compendium.config import judges
from compendium.config.judges import FaithfulnessSpec
from compendium.config.own import (
    AttributionsSpec,
    CorpusSpec,
    check_classes,
    check_run_name,
    class_names,
)
from compendium.config.sections import (
    ROWS,
    BootstrapSpec,
    ExplainSpec,
    Judge,
    ModelSpec,
    TaskSpec,
    TrainingSpec,
)
from compendium.corpora import TASKS, evidence_tasks

Run = tuple[str, str, int]  # task, model, seed
# judges that ask the model about the class it predicts, whatever was explained
OF_THE_PREDICTED = {
    "pointing": "the pointing game (notebook 04) asks what speaks for the predicted class",
    "faithfulness": "erasure (notebook 06) measures the probability of the predicted class",
}
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")


class Profile(Section):
    """One profile, whole.

    threads: of a process. workers: processes of a step that judges. variants: the reading of a
    paper that is followed where text and released code part, see config.reading; loading a profile
    fills in what it says. left_out: the optional tasks that are not at hand; loading a profile sets
    it. crossed: tasks of the crossed design of notebook 08_joint_crossed, written as `tasks` are;
    every model and seed of one explains the same texts, and all of them go before every judge.
    corpora: files of one's own, tasks like any other; attributions: files of scores that were made
    elsewhere, whose methods stand beside ours. Making a profile changes nothing outside it:
    config.load makes these known first, and so does each process that works for a step
    (own.make_known).
    """

    name: str
    seed: int = 0
    threads: Count = 1
    workers: Count = 1
    device: str = "auto"
    models: dict[str, ModelSpec]
    corpora: dict[str, CorpusSpec] = {}
    attributions: list[AttributionsSpec] = []
    tasks: dict[str, TaskSpec]
    training: TrainingSpec = TrainingSpec()
    explain: ExplainSpec = ExplainSpec()
    pointing: judges.PointingSpec = judges.PointingSpec()
    agreement: judges.AgreementSpec = judges.AgreementSpec()
    faithfulness: FaithfulnessSpec = FaithfulnessSpec()
    diagnosis: judges.DiagnosisSpec = judges.DiagnosisSpec()
    joint: judges.JointSpec = judges.JointSpec()
    meta: judges.MetaSpec = judges.MetaSpec()
    bootstrap: BootstrapSpec = BootstrapSpec()
    seed_study: judges.SeedStudySpec | None = None
    crossed: dict[str, TaskSpec] = {}
    variants: dict[str, str] = {}
    left_out: list[str] = []

    @field_validator("name")
    @classmethod
    def one_folder(cls, given: str) -> str:
        if not FILE_NAME.fullmatch(given):
            raise ValueError(
                f"{given!r} is no name of a profile: its results lie in a folder of this name, so "
                "it has letters, digits, dots, dashes and underscores, begins with a letter or "
                "digit, and is no path; where a profile has no `name`, its file's is taken"
            )
        return given

    @field_validator("models")
    @classmethod
    def whole_models(cls, given: dict[str, ModelSpec]) -> dict[str, ModelSpec]:
        return {name: _whole_model(name, given) for name in given}

    @model_validator(mode="after")
    def known_names(self) -> Self:
        for model in self.models:
            check_run_name("models", model)
        for task, spec in self.tasks.items():
            self._check_task(task, spec)
        tasks = [*self.tasks, *self.left_out]
        self.joint.check(tasks)
        judges.check_tasks("diagnosis.agents", self.diagnosis.agents.tasks, tasks)
        check_choice_of_runs(self)
        check_twins(self)
        if self.seed_study:
            self.seed_study.check(self.models, TASKS)
            self.study_training()
            self.study_explaining()
        if self.crossed:
            self.crossed_profile()
        return self

    def _check_task(self, task: str, spec: TaskSpec) -> None:
        """ValueError for what a task asks for and cannot have."""
        if task not in TASKS:
            raise ValueError(f"unknown task {task!r}; there are: {', '.join(TASKS)}")
        if missing := [name for name in spec.models if name not in self.models]:
            raise ValueError(
                f"task {task!r} asks for model {missing[0]!r}; defined are: "
                f"{', '.join(self.models)}"
            )
        _check_networks(self, task)
        for other in spec.also_train:
            if other not in TASKS or TASKS[other].labels != TASKS[task].labels:
                fit = [n for n, t in TASKS.items() if t.labels == TASKS[task].labels and n != task]
                raise ValueError(
                    f"task {task!r} cannot also train on {other!r}; it can on: "
                    f"{', '.join(fit) or 'none'}"
                )
        for part, schema in (("explain", ExplainSpec), ("faithfulness", FaithfulnessSpec)):
            _check_keys(f"task {task!r}", part, getattr(spec, part), schema)
        for model in spec.models:
            _check_keys(f"model {model!r}", "training", self.models[model].training, TrainingSpec)
            _check_keys(
                f"task {task!r}", "training", self.task_of(task, model).training, TrainingSpec
            )
            self.training_of(task, model)
            if self.read_by(task) == task and not self.task_of(task, model).train_rows:
                check_classes(
                    task, TASKS[task].labels, model, class_names(model, self.models[model])
                )
        self.explaining_of(task)
        self.faithfulness_of(task)
        _check_rows(self, task)
        check_judges(self, task)

    def crossed_profile(self) -> "Profile":
        """The crossed design as a profile of its own, all of whose texts go before every judge."""
        whole = self.model_dump(exclude={"crossed", "seed_study", "joint", "diagnosis"})
        return Profile(**whole | {"tasks": self.crossed})

    def read_tasks(self) -> list[str]:
        """Every task whose table is read: also to train on, or for what people marked."""
        read = list(self.tasks)
        for task, spec in self.tasks.items():
            for model in spec.models:
                read += self.task_of(task, model).also_train
        for task, _, _ in self.explained_runs("diagnosis"):
            read += evidence_tasks(task)
        if self.seed_study:
            read.append(self.seed_study.task)
        if self.crossed:
            read += self.crossed_profile().read_tasks()
        return list(dict.fromkeys(read))

    def task_of(self, task: str, model: str) -> TaskSpec:
        """How much of a task is used with one of its models, and how that is trained."""
        spec = self.tasks[task]
        changes = spec.of_model.get(model, {})
        training = spec.training | changes.get("training", {})
        return spec.changed(**changes | {"training": training})

    def training_of(self, task: str, model: str) -> TrainingSpec:
        """How a model is trained on a task: with the model's changes, then the task's."""
        changes = self.models[model].training | self.task_of(task, model).training
        return self.training.changed(**changes)

    def faithfulness_of(self, task: str) -> FaithfulnessSpec:
        """How faithfulness is judged on a task: the profile's way with the task's own changes."""
        return self.faithfulness.changed(**self.tasks[task].faithfulness)

    def explaining_of(self, task: str) -> ExplainSpec:
        """How a task is explained: the profile's way with the task's own changes."""
        return self.explain.changed(**self.tasks[task].explain)

    def study_training(self) -> TrainingSpec:
        study = self.seed_study
        assert study
        return self.training.changed(**self.models[study.model].training | study.training)

    def study_explaining(self) -> ExplainSpec:
        study = self.seed_study
        assert study
        return self.explain.changed(**study.explain | {"methods": study.methods})

    def rows_explained(self, task: str, model: str) -> int:
        return self.task_of(task, model).explain_rows

    def read_by(self, task: str) -> str:
        """The task whose models read a task's instances: itself, or the one it is made from."""
        return TASKS[task].trained_on or task

    def runs_of(self, task: str) -> list[Run]:
        """Every model and seed of a task."""
        models = self.tasks[task].models
        return [(task, name, seed) for name in models for seed in self.task_of(task, name).seeds]

    def trained_runs(self) -> list[Run]:
        """Every model that is trained, or taken as it is."""
        return [
            run
            for task in self.tasks
            if self.read_by(task) == task
            for run in self.runs_of(task)
            if not self.models[run[1]].same_as
        ]

    def joint_rows(self, task: str, model: str) -> int:
        """How many instances of a run go before every metric."""
        return self.joint.rows_of(task, self.rows_explained(task, model))

    def joint_runs(self) -> list[Run]:
        """The explained runs that go before every metric."""
        return [run for run in self.explained_runs() if self.joint_rows(*run[:2])]

    def first_runs(self, tasks: Iterable[str]) -> list[Run]:
        """The first seed of every model of these tasks, as far as the profile has them."""
        known = [(task, self.tasks[task]) for task in tasks if task in self.tasks]
        return [
            (task, model, self.task_of(task, model).seeds[0])
            for task, spec in known
            for model in spec.models
        ]

    def twin_runs(self) -> list[Run]:
        """The first seed of the twins of joint.masked, of each task the plain ones first."""
        runs = []
        for task, twins in self.joint.masked.twins.items():
            if task in self.tasks:
                seed = self.tasks[task].seeds[0]
                runs += [(task, name, seed) for name in (*twins.plain, *twins.masked)]
        return runs

    @property
    def only_shown(self) -> list[str]:
        """The tasks whose texts no judge looks at: the explorer alone shows them."""
        return [task for task, spec in self.tasks.items() if spec.judges == ["shown"]]

    def first_explained(self, task: str) -> Run | None:
        return next((run for run in self.explained_runs() if run[0] == task), None)

    def explained_runs(self, judge: Judge | None = None) -> list[Run]:
        """Every run that notebook 03 explains, or those of a judge (diagnosis explains itself)."""
        asked = {judge} if judge else {*get_args(Judge)} - {"diagnosis"}
        runs = []
        for task in self.tasks:
            for run in self.runs_of(task):
                used = self.task_of(task, run[1])
                rows = used.explain_rows or judge == "diagnosis"
                if rows and asked & set(used.judges):
                    runs.append(run)
        return runs


def _whole_model(name: str, models: dict[str, ModelSpec]) -> ModelSpec:
    """A model's specification, that of another network's filled in where it is the same."""
    spec = models[name]
    if spec.same_as is None:
        return spec
    if spec.same_as not in models or models[spec.same_as].same_as:
        trained = [other for other in models if not models[other].same_as]
        raise ValueError(
            f"model {name!r} is the same as {spec.same_as!r}, which is none that is trained; there "
            f"are: {', '.join(trained)}"
        )
    whole = models[spec.same_as].changed(same_as=spec.same_as, erase=spec.erase)
    if alien := [key for key in spec.model_fields_set if getattr(spec, key) != getattr(whole, key)]:
        raise ValueError(
            f"model {name!r} is the same as {spec.same_as!r} but for `erase`: leave out "
            f"{', '.join(sorted(alien))}"
        )
    return whole


def _check_networks(profile: Profile, task: str) -> None:
    """Raise ValueError where a model is the same as a network that its task does not train."""
    spec = profile.tasks[task]
    for model in spec.models:
        source = profile.models[model].same_as
        if source is None:
            continue
        if source not in spec.models:
            raise ValueError(f"task {task!r} has model {model!r}, and not {source!r}, its network")
        _check_there(
            task,
            task,
            "seeds",
            profile.task_of(task, model).seeds,
            profile.task_of(task, source).seeds,
        )


def _check_rows(profile: Profile, task: str) -> None:
    """Raise ValueError where a task lacks the models that read it, or the rows that train them."""
    spec = profile.tasks[task]
    parent = profile.read_by(task)
    given = [name for name in ROWS if getattr(spec, name) is not None]
    if parent == task:
        if len(given) < 3:
            raise ValueError(
                f"task {task!r} needs train_rows, dev_rows and test_rows; it has {given}"
            )
        trains = any(profile.task_of(task, model).train_rows for model in spec.models)
        if trains and "train" not in TASKS[task].splits:
            raise ValueError(
                f"task {task!r} has no rows to train on: say which column of its file holds the "
                "splits (`split`), or set train_rows to 0 to take the model's weights as they are"
            )
        return
    if given:
        raise ValueError(
            f"task {task!r} is read by the models of {parent!r}: it takes no {given[0]}"
        )
    read = profile.tasks.get(parent)
    _check_there(task, parent, "models", spec.models, read.models if read else [])
    for model in spec.models:
        there = profile.task_of(parent, model).seeds
        _check_there(task, parent, "seeds", profile.task_of(task, model).seeds, there)


def _check_there(task: str, parent: str, name: str, wanted: list, there: list) -> None:
    """Raise ValueError where a task wants models or seeds that the task that trains them lacks."""
    if missing := [value for value in wanted if value not in there]:
        raise ValueError(
            f"task {task!r} is read by the models of {parent!r}, whose {name} are {there}; "
            f"got {missing[0]!r}"
        )


def _check_keys(whose: str, part: str, given: dict, schema: type[BaseModel]) -> None:
    if unknown := [name for name in given if name not in schema.model_fields]:
        allowed = ", ".join(schema.model_fields)
        raise ValueError(f"{whose}: unknown {part} key {unknown[0]!r}; allowed are: {allowed}")


def check_judges(profile: Profile, task: str) -> None:
    """Raise ValueError where a task's judges, models and ways to explain do not fit together."""
    explain = profile.explaining_of(task)
    for model in profile.tasks[task].models:
        used = profile.task_of(task, model)
        family = profile.models[model].family
        if used.explain_rows and set(used.judges) - {"diagnosis"}:
            for judge in used.judges:
                if judge in OF_THE_PREDICTED and explain.target != "predicted":
                    raise ValueError(
                        f"task {task!r} has the judge {judge!r} and explain.target "
                        f"{explain.target!r}: {OF_THE_PREDICTED[judge]}. Give the task `explain: "
                        f"{{target: predicted}}`, or take {judge!r} from its judges"
                    )
            if not any(family in METHODS[name].families for name in explain.methods):
                raise ValueError(
                    f"task {task!r} is explained by {', '.join(explain.methods)}, of which none "
                    f"applies to its model {model!r} ({family}); these do: "
                    f"{', '.join(methods_for(family))}"
                )
            _check_parts(
                f"task {task!r}: explain.shards", explain.shards, "explain_rows", used.explain_rows
            )
        if "diagnosis" in used.judges:
            _check_diagnosis(profile.diagnosis, task, model, family)


def check_trained(profile: Profile) -> None:
    """Raise ValueError where a task outside the crossed design has a model that is not trained."""
    for task, spec in profile.tasks.items():
        if others := [name for name in spec.models if profile.models[name].same_as]:
            raise ValueError(
                f"task {task!r} has model {others[0]!r}, which is another's network (same_as): "
                "such a one is for tasks under `crossed`"
            )


def check_more_than_random(profile: Profile) -> None:
    """Raise ValueError where a task that is judged is explained by random scores alone."""
    for task in dict.fromkeys(run[0] for run in profile.explained_runs()):
        if profile.explaining_of(task).methods == ["random"]:
            raise ValueError(
                f"task {task!r} is explained by random scores alone, so that there is nothing to "
                "judge: name another method under explain.methods, or leave explain.methods out "
                "for those of the papers"
            )


def check_choice_of_runs(profile: Profile) -> None:
    """Raise ValueError where two studies of seeds would choose the run of tables of agreement."""
    study = profile.seed_study
    if profile.agreement.runs == "all" or study is None or study.task not in profile.tasks:
        return
    known = study.model in profile.tasks[study.task].models
    seeds = profile.task_of(study.task, study.model).seeds
    if len(seeds) > 1 and known:
        raise ValueError(
            f"agreement.runs is 'lowest_apd', and of task {study.task!r}, model {study.model!r} "
            f"there are the seeds {seeds} and those of seed_study: leave seed_study out, or "
            "give it another task or model"
        )


def check_twins(profile: Profile) -> None:
    """Raise ValueError where the twins of joint.masked differ in more than `masked`."""

    def upbringing(task: str, model: str) -> dict[str, dict]:
        rows = {"train_rows", "dev_rows", "also_train"}
        return {
            "model": profile.models[model].model_dump(exclude={"training"}),
            "rows": profile.task_of(task, model).model_dump(include=rows),
            "training": profile.training_of(task, model).model_dump(exclude={"masked"}),
        }

    for task, model, seed in profile.twin_runs():
        if (task, model, seed) not in profile.trained_runs():
            raise ValueError(f"joint.masked: no model {model!r} is trained on task {task!r}")
        twins = profile.joint.masked.twins[task]
        if profile.training_of(task, model).masked != (model in twins.masked):
            kind = "masked" if model in twins.masked else "plain"
            raise ValueError(
                f"joint.masked: {model!r} is a {kind} twin; give it training.masked to match"
            )
        first = twins.plain[0]
        ours = upbringing(task, first)
        theirs = upbringing(task, model)
        for what in (what for what in ours if ours[what] != theirs[what]):
            raise ValueError(
                f"joint.masked: twins on task {task!r} differ in `masked` alone; the {what} of "
                f"{first!r} is {ours[what]}, that of {model!r} is {theirs[what]}"
            )


def _check_diagnosis(spec: judges.DiagnosisSpec, task: str, model: str, family: str) -> None:
    """Raise ValueError for a task of one text, or a technique that does not apply to a model."""
    if len(TASKS[task].segments) < 2:
        fit = [name for name, known in TASKS.items() if len(known.segments) == 2]
        raise ValueError(
            f"task {task!r} has one text; diagnosis needs two, as in: {', '.join(fit)}"
        )
    for technique in spec.techniques:
        if not all(family in METHODS[name].families for name in TECHNIQUES[technique].values()):
            raise ValueError(
                f"task {task!r} has the judge 'diagnosis', whose technique {technique!r} does "
                f"not apply to the model {model!r} ({family}); give the task a transformer, or "
                "leave it out of diagnosis.techniques"
            )
    _check_parts("diagnosis.parts", spec.parts, "diagnosis.rows", spec.rows)


def _check_parts(what: str, parts: int, of: str, rows: int) -> None:
    """Raise ValueError where work is cut into more parts than it has instances."""
    if parts > rows:
        raise ValueError(
            f"{what} is {parts}, but {of} is {rows}: some would be empty; at most {rows} will do"
        )
