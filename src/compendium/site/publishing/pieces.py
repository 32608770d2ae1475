"""A committed run that is made in pieces: what one piece lacks stays as an earlier one left it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

import pandas as pd

from compendium.config import Profile
from compendium.project import Results
from compendium.site.publishing.tables import copy_tables
from compendium.workflow.steps import JUDGES

TRAINING, UNKNOWN = "02_train-", "not recorded"


def read_committed(place: Results) -> dict:
    """The manifest of a committed run, empty where none is."""
    path = place.root / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def without(manifest: dict, lacking: Iterable[str]) -> dict:
    """A manifest without the records of these steps."""
    absent = set(lacking)
    return {**manifest, "steps": {name: record for name, record in manifest["steps"].items() if name not in absent}}


def step_of(what: str, steps: Iterable[str]) -> str:
    """The step whose file this is, or of which this line of `left_out` speaks: of the names that fit the longest."""
    name = what.removeprefix("table ").removeprefix("figure ")
    return max((step for step in steps if name.startswith(step)), key=len, default="")


def what_of(line: str) -> str:
    """The file, or the place in one, that a line of `left_out` speaks of."""
    return line.partition(": ")[0]


def keep_earlier(earlier: Results, copy: Results, manifest: dict, settings: Profile) -> dict:
    """Copy what an earlier piece has of steps that the new one lacks; the manifest of both together.

    Of a step that both have, the new one's is here; `made_again` says how right a model was that several trained. Sums
    of seconds are of the steps that are here. settings: the profile as it is; what a piece had otherwise is named.
    """
    nothing = {"steps": {}, "corpora": {}, "left_out": [], "made_again": {}, "settings_changed": [], "samples": {}}
    today = json.loads(settings.model_dump_json())
    old = {**nothing, "settings": today, **read_committed(earlier)}
    kept = {name: record for name, record in old["steps"].items() if name not in manifest["steps"]}
    again = {
        name: record["finished"] != manifest["steps"][name]["finished"]
        for name, record in old["steps"].items()
        if name in manifest["steps"]
    }
    files = [earlier.root / name for record in kept.values() for name in record["files"]]
    for name in kept:
        shutil.copyfile(earlier.executed(name), copy.executed(name))
    for path in (path for path in files if path.parent == earlier.figures and path.exists()):
        shutil.copyfile(path, copy.figures / path.name)
    tables = [path for path in files if path.parent == earlier.tables and path.exists()]
    said = copy_tables(tables, copy, {}, settings, [])
    known = {what_of(line) for line in said}
    said += [line for line in old["left_out"] if what_of(line) not in known and step_of(line, old["steps"]) in kept]
    steps = dict(sorted({**kept, **manifest["steps"]}.items()))
    return {
        **manifest,
        **{key: round(sum(record[key] for record in steps.values()), 1) for key in ("seconds", "processor_seconds")},
        "corpora": {**old["corpora"], **manifest["corpora"]},
        "settings": today,
        "samples": manifest.get("samples", {}) | _of_kept(old["samples"], kept),
        "steps": steps,
        "left_out": [*manifest["left_out"], *said],
        "settings_changed": sorted({*old["settings_changed"], *otherwise(old, today), *otherwise(manifest, today)}),
        "made_again": {**old["made_again"], **_made_again(old["made_again"], earlier, copy, again)},
    }


def processor_of(record: Mapping) -> str:
    """The processor that a step's record names, without its instruction set."""
    return record.get("machine", {}).get("processor", UNKNOWN).partition(" (x86")[0]


def describe_pieces(manifest: Mapping) -> list[str]:
    """On which machines the steps of a committed run were made, where there are several; and how right a model was
    that was trained on several."""
    counts = Counter(map(processor_of, manifest["steps"].values()))
    if len(counts) < 2:
        return []
    said = "; ".join(f"{machine}: {count} steps" for machine, count in counts.items())
    lines = [
        f"Made in pieces, on several machines ({said}). Each piece trains the models that it reads, from the same "
        "seeds; of a step that several have, the last is here."
    ]
    if manifest.get("settings_changed"):
        lines.append(f"Settings that some pieces had otherwise: {_by_section(manifest['settings_changed'])}.")
    again = [
        f"{name} {', then '.join(f'{value:.3f}' for value in values)}"
        for name, values in manifest.get("made_again", {}).items()
    ]
    return [*lines, f"Accuracy of the models that were trained again: {'; '.join(again)}."] if again else lines


def _by_section(names: Iterable[str]) -> str:
    """Dotted names of settings, those of one section together: `tasks.snli` (`models`, `test_rows`)."""
    parts = [(".".join(name.split(".")[:2]), ".".join(name.split(".")[2:])) for name in sorted(names)]
    said = []
    for section, group in groupby(parts, key=lambda part: part[0]):
        inside = ", ".join(f"`{name}`" for _, name in group if name)
        said.append(f"`{section}` ({inside})" if inside else f"`{section}`")
    return "; ".join(said)


def _of_kept(samples: Mapping[str, str], kept: Iterable[str]) -> dict[str, str]:
    """What was said of the samples of judges whose notebook stays as it was."""
    return {judge: samples[judge] for name, judge in JUDGES.items() if name in kept and judge in samples}


def otherwise(manifest: Mapping, today: Mapping) -> list[str]:
    """The settings (dotted names) that a piece had otherwise; tasks and models that it does without are none."""
    had = manifest["settings"]
    whole = {name: {**today.get(name, {}), **had.get(name, {})} for name in ("tasks", "models")}
    return _changed({**had, **whole}, today)


def _changed(old: object, new: object, at: str = "") -> list[str]:
    """The dotted names of the settings that differ, as deep as both have sections."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [at] if old != new else []
    deeper = ((key, f"{at}.{key}".lstrip(".")) for key in {*old, *new})
    return [name for key, path in deeper for name in _changed(old.get(key), new.get(key), path)]


def _made_again(
    known: Mapping[str, list[float]], earlier: Results, copy: Results, again: Mapping[str, bool]
) -> dict[str, list[float]]:
    """By model that was trained again, its accuracy on test each time."""
    out = {}
    for step in sorted(step for step, anew in again.items() if anew and step.startswith(TRAINING)):
        before, now = (_accuracy(place.tables / f"{step}_accuracy.csv") for place in (earlier, copy))
        model = step.removeprefix(TRAINING)
        out[model] = [*known.get(model, [before]), now]
    return out


def _accuracy(path: Path) -> float:
    """The accuracy in a table of notebook 02."""
    return float(pd.read_csv(path).accuracy.iloc[0])
