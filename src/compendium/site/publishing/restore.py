"""attreval restore: a committed run back to where a run leaves its files, for what reads tables alone."""

from __future__ import annotations

import shutil

from attreval.core.tables import write_json, write_whole
from compendium import config, project
from compendium.site.publishing.pieces import read_committed
from compendium.site.publishing.places import committed


def restore(profile: str) -> list[str]:
    """Copy the committed files of every step that a profile's run has no record of; give the names of these steps.

    Models, explanations and what is left out of commits do not come back: `attreval run` makes such a step again.
    ValueError: of this profile no run is committed. FileNotFoundError: none is there.
    """
    name = config.load(profile).name
    run, place = project.results(name), committed(name)
    records = read_committed(place).get("steps", {})
    if not records:
        raise FileNotFoundError(f"no committed run of {name!r} in {place.root}")
    lacking = [step for step in records if not run.record(step).exists()]
    for step in lacking:
        files = [place.executed(step), *(place.root / name for name in records[step]["files"])]
        for path in (path for path in files if path.exists()):
            with write_whole(run.root / path.relative_to(place.root)) as part:
                shutil.copyfile(path, part)
        write_json(run.record(step), records[step])
    return lacking
