"""Reading a profile: config/<profile>.yaml, checked against the schema, with errors that say what is allowed."""

from __future__ import annotations

import difflib
from pathlib import Path

import yaml
from pydantic import ValidationError

from attreval.core.section import explain_error
from compendium import corpora, project
from compendium.config.contradictions import check_more_than_random
from compendium.config.own import make_known, resolve_paths
from compendium.config.profile import Profile
from compendium.config.variants import apply_variants


def profiles() -> list[str]:
    """The names of the profiles in config/."""
    return sorted(path.stem for path in (project.home() / "config").glob("*.yaml"))


def path_of(profile: str) -> Path:
    """The file of a profile: `config/<profile>.yaml`, or `profile` itself if that ends in .yaml."""
    given = Path(profile)
    return given.resolve() if given.suffix in (".yaml", ".yml") else project.home() / "config" / f"{profile}.yaml"


def load(profile: str) -> Profile:
    """Read and check a profile, by name or path, without its optional tasks that are not at hand.

    The user's own corpora and attributions that it names become known to this process.

    Raises ValueError that says what is wrong and what is allowed.
    """
    path, found = _read_mapping(profile)
    try:
        found = apply_variants(resolve_paths({"name": path.stem} | found, path.parent))
        _check_owner(found["name"], path)
        make_known(found)
        profile = Profile.model_validate(found)
        check_more_than_random(profile)
        gone = [task for task, spec in profile.tasks.items() if spec.optional and not corpora.at_hand(task)]
        kept = {task: spec for task, spec in profile.tasks.items() if task not in gone}
        return profile.model_copy(update={"tasks": kept, "left_out": gone})
    except ValidationError as error:
        reasons = [explain_error(problem, Profile) for problem in error.errors()]
    except (ValueError, OSError) as error:
        reasons = [str(error)]
    raise ValueError(f"{path.name} is not a valid profile:\n  " + "\n  ".join(reasons))


def _check_owner(name: object, path: Path) -> None:
    """Raise ValueError where another profile of config/ has this name: results of one would take the other's place.

    A copy of that profile, in a copy of the project, is no other.
    """
    theirs = path_of(str(name)) if isinstance(name, str) and "/" not in name and name in _shipped() else path
    if theirs.resolve() != path.resolve() and theirs.read_bytes() != path.read_bytes():
        raise ValueError(
            f"name: {name!r} is the profile {theirs}, whose results this one would write over; give it another name"
        )


def _shipped() -> list[str]:
    """The names of the profiles in config/; none outside a project."""
    try:
        return profiles()
    except FileNotFoundError:
        return []


def _read_mapping(profile: str) -> tuple[Path, dict]:
    """The path of a profile and what it holds, unchecked. ValueError: no such profile, or no mapping of sections."""
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
    return path, found
