"""What was run, with which code, data and seeds, and what it took: results/<profile>/manifest.json."""

from __future__ import annotations

import json
from pathlib import Path

from attreval import __version__
from attreval.core.tables import read_about, write_json
from compendium import config, corpora, project
from compendium.workflow.machine import commit, describe_machine
from compendium.workflow.samples import describe_samples


def make_manifest(profile: str) -> Path:
    """Write the manifest of a profile from the records of its steps."""
    settings = config.load(profile)
    folder = project.results(settings.name)
    steps = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.steps.glob("[!.]*.json"))]
    if not steps:
        raise FileNotFoundError(
            f"profile {settings.name!r} has no results yet: `attreval run --profile {profile}` makes them"
        )
    tables = {task: corpora.table_path(task) for task in settings.read_tasks()}
    about = {task: read_about(path) for task, path in tables.items() if path.exists()}
    path = folder.root / "manifest.json"
    write_json(
        path,
        {
            "profile": settings.name,
            "attreval": __version__,
            "commit": commit(),
            "date": max((s["finished"] for s in steps), default="")[:10],
            "seconds": round(sum(s["seconds"] for s in steps), 1),
            "processor_seconds": round(sum(s["processor_seconds"] for s in steps), 1),
            "machine": describe_machine(),  # that this manifest was written on; each step names its own
            "samples": describe_samples(settings),
            "settings": settings.model_dump(),
            "corpora": about,
            "steps": {s["step"]: s for s in steps},
        },
    )
    return path
