"""What the study has: corpora, models, notebooks, profiles, as plain rows."""

from __future__ import annotations

from compendium import config, corpora
from compendium.workflow import parameters


def list_corpora() -> list[dict]:
    """Tasks and the corpora they come from."""
    fields = ("name", "title", "labels", "segments", "origin", "licence")
    return [{field: getattr(task, field) for field in fields} for task in corpora.TASKS.values()]


def list_models() -> list[dict]:
    """Models that the profiles define."""
    return [
        {
            "profile": profile,
            "name": name,
            "architecture": spec.architecture,
            "from": spec.weights or "scratch" + (f", {spec.embeddings} embeddings" if spec.embeddings else ""),
            "max_length": spec.max_length,
        }
        for profile in config.profiles()
        for name, spec in config.load(profile).models.items()
    ]


def list_notebooks() -> list[dict]:
    """Notebooks and what they may be given."""
    return [
        {"name": name, "parameters": [f"{key} = {field.default!r}" for key, field in schema.model_fields.items()]}
        for name, schema in parameters.NOTEBOOKS.items()
    ]


def list_profiles() -> list[dict]:
    """Profiles with their tasks and methods."""
    return [
        {
            "name": profile.name,
            "tasks": list(profile.tasks),
            "models": list(profile.models),
            "methods": len(profile.explain.methods),
            "threads": profile.threads,
        }
        for profile in map(config.load, config.profiles())
    ]


CATALOGUES = {
    "corpora": list_corpora,
    "models": list_models,
    "notebooks": list_notebooks,
    "profiles": list_profiles,
}
