"""What a profile says of the user's own things: names, folders of models, files of texts.

Paths are those of the profile's own folder; what is not there, or cannot be meant, is told before
anything runs.
"""

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from attreval.core.nearest import nearest
from attreval.core.section import Section
from compendium.config.sections import ModelSpec, TaskSpec
from compendium.corpora import WEIGHTS

RUN_NAME = re.compile(r"[a-z0-9_]+")
FROM_FOLDERS = ("weights", "tokenizer", "start")


class CorpusSpec(Section):
    """A file of one's own that becomes a task: see attreval.texts.files and attreval.texts.data.

    file: from the profile's folder. labels: class names in index order, those of the model or of
    the file where empty. text, label, pair, rationale, split, id: names of columns. hybrid_<name>
    is then a task, too, for the pointing game, of documents of hybrid_sentences.
    """

    file: str = Field(min_length=1)
    text: str = "text"
    label: str = "label"
    pair: str | None = None
    rationale: str | None = None
    split: str | None = None
    id: str | None = None
    labels: list[str] = []
    title: str = ""
    licence: str = ""
    hybrid_sentences: int = Field(10, ge=2)

    @field_validator("labels", mode="before")
    @classmethod
    def names_of_classes(cls, given: object) -> object:
        named = [str(label) for label in given] if isinstance(given, list) else given
        if isinstance(named, list) and named and (len(named) < 2 or len(set(named)) < len(named)):
            raise ValueError(
                f"two classes or more of different names are needed; got {', '.join(named)}"
            )
        return named


class AttributionsSpec(Section):
    """A file of attributions that were made elsewhere, see methods.attribution_files.

    file: from the profile's folder. labels: the classes that its targets are of. stamp: a hash of
    what it holds, computed, so that a changed file makes its steps run again.
    """

    file: str = Field(min_length=1)
    labels: list[str] = []
    stamp: str = ""

    @model_validator(mode="after")
    def stamped(self) -> Self:
        from compendium.corpora.own_tasks import digest_once

        object.__setattr__(self, "stamp", digest_once(Path(self.file))[:16])
        return self


def register_attributions(files: Sequence[AttributionsSpec]) -> None:
    """Make the methods of these files known, each with the texts of all files that name it.

    ValueError for wrong rows, and for a method that files of different classes share.
    """
    from attreval.methods import METHODS
    from attreval.methods.attribution_files import as_methods, read_attribution_file

    by_labels: dict[tuple[str, ...], list] = {}
    for given in files:
        by_labels.setdefault(tuple(given.labels), []).extend(read_attribution_file(given.file))
    taken = [name for name, method in METHODS.items() if method.given is None]
    for labels, rows in by_labels.items():
        made = as_methods(rows, labels, taken)
        METHODS.update(made)
        taken += made


def make_known(settings: Mapping[str, Any]) -> None:
    """Make the user's own corpora and attributions known to this process, in TASKS and METHODS.

    Called when a run starts, before the profile is checked; again, it replaces what it made known.
    settings: a profile as read, with absolute paths, or the model_dump of one. What the schema
    refuses is left to it. ValueError for a name, file or column that cannot be meant.
    """
    from attreval.texts.data import Columns
    from compendium.corpora.own_tasks import register

    register_attributions(_valid(AttributionsSpec, settings.get("attributions")))
    corpora = settings.get("corpora")
    for name, given in corpora.items() if isinstance(corpora, dict) else ():
        check_run_name("corpora", str(name))
        for spec in _valid(CorpusSpec, [given]):
            columns = Columns(**spec.model_dump(include={*Columns.__dataclass_fields__}))
            register(
                name,
                Path(spec.file),
                columns,
                labels=spec.labels,
                title=spec.title,
                licence=spec.licence,
                prefer=_classes_of_reader(settings, name),
                sentences=spec.hybrid_sentences,
            )


def _valid(schema: type[Section], given: Any) -> list:
    """Those of some entries that a section takes."""
    made = []
    for one in given if isinstance(given, list) else ():
        with contextlib.suppress(ValidationError):
            made.append(schema.model_validate(one))
    return made


def _classes_of_reader(settings: Mapping[str, Any], task: str) -> tuple[str, ...]:
    """The classes of the first model that reads a task and is taken as it is; () where none is."""
    try:
        spec = TaskSpec.model_validate(settings["tasks"][task])
        models = settings["models"]
        rows = {
            name: spec.of_model.get(name, {}).get("train_rows", spec.train_rows)
            for name in spec.models
        }
        taken = [name for name in spec.models if name in models and not rows[name]]
        first = ModelSpec.model_validate(models[taken[0]]) if taken else None
    except (KeyError, TypeError, ValidationError):
        return ()
    return class_names(taken[0], first) if first else ()


def check_run_name(what: str, name: str) -> None:
    """Raise ValueError for a name of a model or task that files of runs cannot be named by."""
    if not RUN_NAME.fullmatch(name):
        plain = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_") or "mine"
        raise ValueError(
            f"{what}: {name!r} is no name: lower-case letters, digits and underscores are, since "
            f"runs and their files are named by it; {plain!r} would do"
        )


def resolve_paths(found: dict, folder: Path) -> dict:
    """A profile as read, with the paths of its models and corpora made absolute.

    folder: the profile's.

    Raises ValueError for a model's folder that is not there, or holds no model; the nearest folders
    are named.
    """
    changed = dict(found)
    if isinstance(models := found.get("models"), dict):
        changed["models"] = {
            name: _with_folders(name, spec, folder) for name, spec in models.items()
        }
    if isinstance(corpora := found.get("corpora"), dict):
        changed["corpora"] = {name: _with_file(spec, folder) for name, spec in corpora.items()}
    if isinstance(given := found.get("attributions"), list):
        changed["attributions"] = [
            _with_file({"file": x} if isinstance(x, str) else x, folder) for x in given
        ]
    return changed


def _with_file(spec: Any, folder: Path) -> Any:
    """The entry of a corpus with an absolute path; what is no entry, the schema refuses."""
    if not isinstance(spec, dict) or not isinstance(spec.get("file"), str) or not spec["file"]:
        return spec
    return spec | {"file": str((folder / Path(spec["file"]).expanduser()).resolve())}


def _with_folders(model: str, spec: Any, folder: Path) -> Any:
    if not isinstance(spec, dict):
        return spec
    given = [key for key in FROM_FOLDERS if isinstance(spec.get(key), str)]
    return spec | {key: find_folder(f"models.{model}.{key}", spec[key], folder) for key in given}


def find_folder(where: str, given: str, folder: Path) -> str:
    """The absolute path of a model's folder; the name of registry weights or of a hub as it is.

    What is a path (it begins with a dot, slash or tilde, has several slashes, or starts in a folder
    that there is) must be a folder that holds a config.json; ValueError otherwise.
    """
    if given in WEIGHTS:
        return given
    path = folder / Path(given).expanduser()
    if path.is_dir():
        files = ("config.json", "tokenizer.json", "tokenizer_config.json")
        if not any((path / name).exists() for name in files):
            held = ", ".join(sorted(other.name for other in path.iterdir())[:6]) or "nothing"
            raise ValueError(
                f"{where}: the folder {path} holds no model: no config.json; it holds {held}"
            )
        return str(path.resolve())
    first, *rest = given.split("/")
    is_path = given.startswith(("/", ".", "~")) or len(rest) > 1
    if path.exists() or is_path or (rest and (folder / first).is_dir()):
        raise ValueError(f"{where}: there is no folder {path}{_nearest_folders(path)}")
    return given


def _nearest_folders(path: Path) -> str:
    """The folders that come near a path that is not there, in its deepest part that exists."""
    parent = path.parent
    missed = path.name
    while not parent.is_dir():
        missed = parent.name
        parent = parent.parent
    folders = [path.name for path in sorted(parent.glob("[!.]*")) if path.is_dir()]
    shown = ", ".join(folders[:3]) or "no folder"
    return f"; {parent} holds {shown}{nearest(missed, folders)}"


def class_names(model: str, spec: ModelSpec) -> tuple[str, ...]:
    """The classes of a model's weights in index order; () where only loading could tell.

    ValueError where `labels` has the classes of the configuration in another order.
    """
    own = _names_in(Path(spec.weights) / "config.json") if spec.weights else ()
    if not spec.labels:
        return own
    given = tuple(spec.labels)
    if own and len(own) != len(given):
        raise ValueError(
            f"models.{model}.labels names {len(given)} classes, its weights have {len(own)}: "
            f"{', '.join(own)}"
        )
    if _folded(own) != _folded(given) and sorted(_folded(own)) == sorted(_folded(given)):
        raise ValueError(
            f"models.{model}.labels has the classes {', '.join(given)}, its configuration the "
            "same in another order: "
            f"{', '.join(own)}; leave `labels` out, or mend the configuration if that is wrong"
        )
    return given


def check_classes(task: str, labels: Sequence[str], model: str, classes: Sequence[str]) -> None:
    """Raise ValueError where a model that is taken as it is has other classes than its task."""
    if classes and sorted(_folded(labels)) != sorted(_folded(classes)):
        raise ValueError(
            f"the model {model!r} has the classes {', '.join(classes)}, the task {task!r} has "
            f"{', '.join(labels)}: name the model's classes, in its order and in the task's "
            "words, under `labels` of the model"
        )


def _folded(names: Sequence[str]) -> list[str]:
    return [name.casefold() for name in names]


def _names_in(config: Path) -> tuple[str, ...]:
    """The class names in a model's configuration; () where there are none."""
    try:
        found: Mapping[str, Any] = (
            json.loads(config.read_text(encoding="utf-8")).get("id2label") or {}
        )
        return tuple(str(found[key]) for key in sorted(found, key=int))
    except (OSError, ValueError, AttributeError):
        return ()
