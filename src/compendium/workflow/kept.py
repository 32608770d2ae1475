"""Finished parts of a step on disk: one that is interrupted goes on where it was, one that ends removes them.

A part is taken up again only where nothing that it depends on has changed: the package's code, the profile, the models
and explanations of the run, and the task tables.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attreval.core.records import Instance
from attreval.core.spent import note_seconds
from attreval.core.tables import write_whole
from compendium import project
from compendium.config import Profile
from compendium.corpora.own_tasks import digest_once
from compendium.imports import PACKAGES
from compendium.project import Results

READ = ("models", "attributions", "tokens")  # folders of results that parts are made from


@dataclass(frozen=True)
class KeptParts:
    """The parts of one step. state: a digest of all that they depend on."""

    folder: Path
    state: str

    def path(self, *names: object) -> Path:
        """Where a part lies. TypeError for a name that does not say what it stands for."""
        said = json.dumps([self.state, names], default=_as_text)
        return self.folder / f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.pickle"


def parts_of(step: str, profile: Profile, results: Results, of_models: bool = True) -> KeptParts:
    """The kept parts of a step. of_models: whether these are made from models and explanations of the run."""
    folders = [project.processed(), *(results.root / name for name in READ if of_models)]
    files = [
        *_sorted(path for root in PACKAGES.values() for path in root.rglob("*.py")),
        *_sorted(path for folder in folders for path in folder.rglob("*")),
    ]
    said = [profile.model_dump_json(), *(f"{path.name} {digest_once(path)}" for path in files)]
    return KeptParts(results.parts(step), hashlib.sha256("\n".join(said).encode()).hexdigest())


def kept_or_made(path: Path, work: Callable[..., Any], *job: object) -> Any:
    """What `work(*job)` gives, from the path if it is there, else made and put there whole, what it cost beside it."""
    if path.exists():
        return pickle.loads(path.read_bytes())
    before = time.process_time()
    found = work(*job)
    note_seconds(path, time.process_time() - before)
    with write_whole(path) as part:
        part.write_bytes(pickle.dumps(found))
    return found


def _sorted(paths: Iterable[Path]) -> list[Path]:
    """The files among some paths, hidden and unfinished ones left out."""
    return sorted(path for path in paths if path.is_file() and not path.name.startswith("."))


def _as_text(thing: object) -> str:
    """What stands for a thing in a part's name; profile and results are in the state."""
    if isinstance(thing, Profile | Results):
        return type(thing).__name__
    if isinstance(thing, Instance):
        return thing.id
    if callable(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    raise TypeError(f"a part of a step cannot be named by a {type(thing).__name__}")
