"""Where do profiles lie, and what does the file of one hold?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

import yaml

from attreval.core import project


def profiles() -> list[str]:
    """The names of the profiles in config/."""
    return sorted(path.stem for path in (project.home() / "config").glob("*.yaml"))


def path_of(profile: str) -> Path:
    """The file of a profile: `config/<profile>.yaml`, or `profile` itself if that ends in .yaml."""
    given = Path(profile)
    return given.resolve() if given.suffix in (".yaml", ".yml") else project.home() / "config" / f"{profile}.yaml"


def read_mapping(profile: str, sections: Iterable[str]) -> tuple[Path, dict]:
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
        raise ValueError(f"{path.name} holds no profile: a mapping of {', '.join(sections)} is needed")
    return path, found
