"""Reading a profile: config/<profile>.yaml, with its variants, checked against the schema.

A variant is a reading of a paper: the choices in which its text or its released code departs from
the defaults here. A profile names one a paper (`variants: {kamp2023: released}`); the fields below
are set by no other key, so that a run is either our reading, or a named other one, and never a
mixture that nobody published. Where paper and code disagree, and on which page, is in
docs/decisions.md.
"""

import contextlib
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from attreval.core.nearest import nearest
from attreval.core.section import explain_errors
from compendium import corpora, project
from compendium.config.own import make_known, resolve_paths
from compendium.config.profile import Profile, check_more_than_random, check_trained

# paper -> variant -> section -> field -> value
VARIANTS: dict[str, dict[str, dict[str, dict]]] = {
    "poerner2018": {
        "released": {
            "pointing": dict(ties="first", affix="code"),
            "explain": dict(
                limsse_sampling="exhaustive",
                limsse_solver="descent",
                decomposition_output_gate=False,
            ),
        },
        "paper": {
            "pointing": dict(ties="expectation", affix="paper"),
            "explain": dict(
                limsse_sampling="random", limsse_solver="exact", decomposition_output_gate=True
            ),
        },
    },
    "kamp2023": {
        "released": {
            "agreement": dict(
                ties="random",
                peaks="released",
                people="top_k",
                improvement="positive",
                apd_itself=True,
            )
        },
        "paper": {
            "agreement": dict(
                ties="expectation",
                peaks="paper",
                people="share",
                improvement="signed",
                apd_itself=False,
            )
        },
    },
    "zhao2023": {"released": {"faithfulness": dict(protocol="released")}},
    "sun2024": {
        "released": {  # of the code that it builds on; it has none of its own
            section: dict(
                head_rank=-1,
                head_matrix="code",
                head_state="before",
                louvain_drop_last=True,
                span_rule="louvain_first_level",
            )
            for section in ("diagnosis.units", "explain.units")
        },
    },
}
# section.field -> the paper whose variants set it
SET_BY = {
    f"{section}.{field}": paper
    for paper, variants in VARIANTS.items()
    for sections in variants.values()
    for section, fields in sections.items()
    for field in fields
}


def _chosen_variants(found: dict) -> dict[str, str]:
    """The variant of each paper that a profile as read names; ValueError as `apply_variants`."""
    chosen = found.get("variants") or {}
    if not isinstance(chosen, dict):
        raise ValueError(
            f"variants: paper and variant are needed, such as {{kamp2023: released}}; got "
            f"{chosen!r}"
        )
    for paper, name in chosen.items():
        if paper not in VARIANTS:
            raise ValueError(f"variants: no paper {paper!r}; there are: {', '.join(VARIANTS)}")
        if name not in list(VARIANTS[paper]):
            raise ValueError(
                f"variants.{paper}: no variant {name!r}; there are: {', '.join(VARIANTS[paper])}"
            )
    for place in _list_keys(found):
        # a task and the study of seeds may change a section for themselves
        if paper := SET_BY.get(re.sub(r"^(tasks\.[^.]+|seed_study)\.", "", place)):
            names = ", ".join(f"{paper}: {name}" for name in VARIANTS[paper])
            raise ValueError(
                f"{place}: is set by a variant of the paper, not by itself; variants are {names}"
            )
    return chosen


def apply_variants(found: dict) -> dict:
    """A profile as read, with the fields of the variants that it names filled in.

    Raises ValueError for an unknown paper or variant, and for a field that only a variant may set.
    """
    chosen = _chosen_variants(found)
    filled = deepcopy(found)
    for paper, name in chosen.items():
        for section, fields in VARIANTS[paper][name].items():
            place = filled
            for part in section.split("."):
                place = place.setdefault(part, {}) if isinstance(place, dict) else place
            if isinstance(place, dict):  # what is no mapping, the schema refuses
                place.update(fields)
    return filled


def _list_keys(found: Any, within: str = "") -> Iterator[str]:
    """The dotted place of every key of a profile as read."""
    for key, value in found.items() if isinstance(found, dict) else ():
        yield f"{within}{key}"
        yield from _list_keys(value, f"{within}{key}.")


def profiles() -> list[str]:
    return sorted(path.stem for path in (project.home() / "config").glob("*.yaml"))


def path_of(profile: str) -> Path:
    """The file of a profile: `config/<profile>.yaml`, or `profile` itself if that ends in .yaml."""
    given = Path(profile)
    if given.suffix in (".yaml", ".yml"):
        return given.resolve()
    return project.home() / "config" / f"{profile}.yaml"


def load_profile(name: str) -> Profile:
    """Read and check a profile, by name or path, without its optional tasks that are not at hand.

    The user's own corpora and attributions that it names become known to this process. ValueError
    says what is wrong.
    """
    path, found = _read_mapping(name)
    try:
        found = apply_variants(resolve_paths({"name": path.stem} | found, path.parent))
        _check_owner(found["name"], path)
        make_known(found)
        profile = Profile.model_validate(found)
        check_more_than_random(profile)
        check_trained(profile)
        kept = {
            task: spec
            for task, spec in profile.tasks.items()
            if not spec.optional or corpora.at_hand(task)
        }
        gone = [task for task in profile.tasks if task not in kept]
        return profile.model_copy(update={"tasks": kept, "left_out": gone})
    except ValidationError as error:
        reasons = explain_errors(error, Profile)
    except (ValueError, OSError) as error:
        reasons = [str(error)]
    raise ValueError(f"{path.name} is not a valid profile:\n  " + "\n  ".join(reasons))


def _check_owner(name: object, path: Path) -> None:
    """Raise ValueError where another profile of config/ has this name, and so its results' place.

    A copy of that profile, in a copy of the project, is no other.
    """
    theirs = path
    with contextlib.suppress(FileNotFoundError):  # outside a project there are no others
        theirs = path_of(str(name)) if name in profiles() else path
    if theirs.resolve() != path.resolve() and theirs.read_bytes() != path.read_bytes():
        raise ValueError(
            f"name: {name!r} is the profile {theirs}, whose results this one would write over; "
            "give it another name"
        )


def _read_mapping(profile: str) -> tuple[Path, dict]:
    """The path of a profile and what it holds, unchecked; ValueError where it is no mapping."""
    path = path_of(profile)
    if not path.exists():
        names = profiles()
        known = f"{', '.join(names)}{nearest(profile, names)}"
        raise ValueError(f"unknown profile {profile!r}; there are: {known}")
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not valid YAML: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(
            f"{path.name} holds no profile: a mapping of {', '.join(Profile.model_fields)} is "
            "needed"
        )
    return path, found
