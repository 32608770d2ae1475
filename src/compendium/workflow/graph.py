"""What steps read, and what the workflow looks at to see that a step must run again.

The files of one profile's run, and the values of the profile that decide over them. Code counts by
what it does: comments and docstrings of the modules that a notebook imports, also by way of others,
are left out. Two kinds of modules do not count: the schema of profiles, whose values are settings
of the steps (workflow.steps), and what brings corpora here, since each table has a stamp beside it
that changes when the table does.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attreval.core.tables import write_json
from compendium import corpora, project
from compendium.config.profile import Profile, Run
from compendium.corpora import WEIGHTS, vectors_file
from compendium.corpora.fetch.packages import sha256_of
from compendium.corpora.own_tasks import digest_once
from compendium.corpora.written import printed_examples
from compendium.imports import closure, code_digest
from compendium.project import Results, step_name

SCHEMA = ("compendium.config",)
BRINGS_DATA = (
    "compendium.corpora.fetch",
    "compendium.corpora.own_tasks",
    "compendium.corpora.tasks",
)
MODEL_FILES = (".json", ".safetensors", ".bin", ".txt", ".model", ".jinja")


def code_of(notebook: Path) -> str:
    cells = project.read_json(notebook)["cells"]  # nbformat takes three seconds to import
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def notebook_modules(notebook: str, not_run: Sequence[str] = ()) -> list[Path]:
    """The files of the two packages that a notebook runs. not_run: what it imports in vain."""
    source = code_of(project.home() / "notebooks" / f"{notebook}.ipynb")
    return closure([source], leave_out=(*SCHEMA, *BRINGS_DATA, *not_run))


def notebook_digest(notebook: str, not_run: Sequence[str]) -> str:
    """What changes when the code of the packages that a notebook runs does something else."""
    return code_digest(notebook_modules(notebook, not_run))


def stamp_path(task: str) -> Path:
    return corpora.table_path(task).with_suffix(".json")


def weights_stamp(name: str) -> Path:
    return project.processed() / f"weights-{name}.json"


def folder_stamp(folder: Path | str) -> Path:
    """The stamp of a user's model folder, written anew only where a file of the model has changed.

    Of what transformers reads there: weights, configuration and tokenizer, by their hashes.
    """
    folder = Path(folder)
    files = [path for path in sorted(folder.iterdir()) if path.suffix in MODEL_FILES]
    found = {"folder": str(folder), "sha256": {path.name: digest_once(path) for path in files}}
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    path = project.processed() / f"folder-{place}.json"
    if not path.exists() or project.read_json(path) != found:
        write_json(path, found)
    return path


def write_stamps(tasks: Iterable[str], weights: Iterable[str] = ()) -> None:
    """Write a stamp for each task's table, and for pretrained weights: hashes of their content."""
    for task in tasks:
        write_json(stamp_path(task), {"task": task, "sha256": sha256_of(corpora.table_path(task))})
    for name in weights:
        write_json(weights_stamp(name), {"weights": name} | WEIGHTS[name].origin)


@dataclass(frozen=True)
class Graph:
    """The files of one profile's run, and the runs (task, model, seed) by what they are for."""

    profile: Profile

    @cached_property
    def results(self) -> Results:
        return project.results(self.profile.name)

    @cached_property
    def joint(self) -> list[Run]:
        """The explained runs that go before every metric."""
        return self.profile.joint_runs()

    @cached_property
    def explained_again(self) -> list[Run]:
        """The runs whose texts notebook 08_joint_settings explains once more."""
        given = self.profile
        spec = given.joint
        budgets = [run for run in given.explained_runs() if run[0] in spec.budgets.tasks]
        limits = given.first_runs(spec.limits.tasks)
        return [*budgets, *limits, *self.from_baselines, *given.twin_runs()]

    @cached_property
    def from_baselines(self) -> list[Run]:
        """The runs that integrate gradients from every baseline."""
        wanted = self.profile.joint.path_baselines
        return [run for run in self.profile.explained_runs() if run[0] in wanted]

    @cached_property
    def several_seeds(self) -> list[Run]:
        """The explained runs of the tasks that have several seeds of a model."""
        runs = self.profile.explained_runs("agreement")
        return [run for run in runs if len(self.profile.task_of(*run[:2]).seeds) > 1]

    def models_of(self, runs: Iterable[Run]) -> list[Run]:
        """The trained models that read the instances of these runs, each once."""
        return sorted({(self.profile.read_by(task), model, seed) for task, model, seed in runs})

    def shards(self, runs: Iterable[Run]) -> list[tuple]:
        """(task, model, seed, shard) of every shard of these runs."""
        shards_of = self.profile.explaining_of
        return [(*run, shard) for run in runs for shard in range(shards_of(run[0]).shards)]

    def parts(self, runs: Iterable[Run]) -> list[tuple]:
        """(task, model, seed, part) of every part of the diagnosis of these runs."""
        return [(*run, part) for run in runs for part in range(self.profile.diagnosis.parts)]

    def executed(self, notebook: str, runs: Iterable[tuple] = ((),)) -> list[Path]:
        """The executed copies of a notebook, and the records of its runs."""
        paths = []
        for run in runs:
            name = step_name(notebook, *run)
            paths += [self.results.executed(name), self.results.record(name)]
        return paths

    def tables(self, tasks: Iterable[str]) -> list[Path]:
        """A small file for each task, whose content changes when the task's table does."""
        return [stamp_path(task) for task in dict.fromkeys(tasks)]

    def tables_of(self, runs: Iterable[Run]) -> list[Path]:
        """The tables that these runs explain, and those that people's marks are taken from."""
        evidence = [task for task in self.profile.read_tasks() if task not in self.profile.tasks]
        return self.tables([*sorted({run[0] for run in runs}), *evidence])

    def pretrained(self, models: Iterable[str]) -> list[Path]:
        """A small file for all that these models start from: weights, folders, word vectors."""
        named = set()
        vectors = set()
        for spec in (self.profile.models[model] for model in models):
            named |= set(filter(None, (spec.weights, spec.tokenizer, spec.start, spec.embeddings)))
            vectors |= set(filter(None, [spec.embeddings]))
        folders = [
            name for name in sorted(named) if Path(name).is_absolute() and Path(name).is_dir()
        ]
        stamps = [weights_stamp(name) for name in sorted(named & set(WEIGHTS))]
        own = sorted(vectors - set(WEIGHTS))
        return [*stamps, *map(folder_stamp, folders), *map(vectors_file, own)]

    def trained(self, runs: Iterable[Run]) -> list[Path]:
        return [self.results.model(*run) / "model.safetensors" for run in self.models_of(runs)]

    def accuracies(self, runs: Iterable[Run]) -> list[Path]:
        """What training these runs' models left: how right they are."""
        return self.executed("02_train", self.models_of(runs))

    def explanations(self, runs: Iterable[Run]) -> list[Path]:
        """The attributions of these runs, and the tokens that they speak of."""
        made = (self.results.attributions, self.results.tokens)
        return [path(*shard) for shard in self.shards(runs) for path in made]

    def typed_explanations(self, runs: Iterable[Run]) -> list[Path]:
        """The same of units, pairs and spans."""
        made = (self.results.typed_attributions, self.results.typed_tokens)
        return [path(*part) for part in self.parts(runs) for path in made]

    def reported(self, paper: str) -> list[Path]:
        return sorted((project.home() / "paper" / "reported").glob(f"{paper}_*.csv"))

    @cached_property
    def _claims(self) -> list[dict]:
        path = project.home() / "paper" / "claims.yml"
        return project.read_yaml(path) if path.exists() else []

    def claims(self, paper: str) -> list[dict]:
        """What a paper claims; titles, and reasons why a claim does not hold, decide nothing."""
        told = {"title", "reasons"}
        own = [claim for claim in self._claims if claim["paper"] == paper]
        return [{key: claim[key] for key in claim if key not in told} for claim in own]

    def sections(self, *names: str) -> dict:
        """These sections of the profile, and how many threads its sums are taken by."""
        return self.profile.model_dump(include={*names, "threads"})

    def joint_sections(self, *names: str) -> dict:
        """These parts of what the profile says of the joint study."""
        return self.profile.joint.model_dump(include={*names})

    def explaining(self, runs: Iterable[Run]) -> list[list]:
        """What decides over the explanations of these runs."""
        given = self.profile
        files = self.sections("attributions")
        decides = []
        for task, model, seed in runs:
            specs = [given.models[model].model_dump(), given.explaining_of(task).model_dump()]
            texts = [given.rows_explained(task, model), given.tasks[task].examples]
            if printed := given.tasks[task].printed:
                texts.append([printed_examples()[name] for name in printed])
            decides.append([task, model, seed, *specs, *texts, files])
        return decides

    def training(self, task: str, model: str) -> list[dict]:
        """What decides over the weights of a model."""
        given = self.profile
        rows = {"train_rows", "dev_rows", "test_rows", "also_train"}
        used = given.task_of(task, model).model_dump(include=rows)
        return [given.training_of(task, model).model_dump(), given.models[model].model_dump(), used]
