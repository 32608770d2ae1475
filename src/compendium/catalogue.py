"""What the study has: corpora, models, notebooks, profiles, as plain rows."""

from compendium import config, corpora
from compendium.workflow.parameters import NOTEBOOKS


def list_corpora() -> list[dict]:
    """Tasks and the corpora they come from."""
    fields = ("name", "title", "labels", "segments", "origin", "licence")
    return [{field: getattr(task, field) for field in fields} for task in corpora.TASKS.values()]


def list_models() -> list[dict]:
    """Models that the profiles define."""
    rows = []
    for profile in config.profiles():
        for name, spec in config.load_profile(profile).models.items():
            start = spec.weights or "scratch" + (
                f", {spec.embeddings} embeddings" if spec.embeddings else ""
            )
            rows.append(
                {
                    "profile": profile,
                    "name": name,
                    "architecture": spec.architecture,
                    "from": start,
                    "max_length": spec.max_length,
                }
            )
    return rows


def list_notebooks() -> list[dict]:
    """Notebooks and what they may be given."""
    given = {name: schema.model_fields.items() for name, schema in NOTEBOOKS.items()}
    return [
        {"name": name, "parameters": [f"{k} = {f.default!r}" for k, f in of]}
        for name, of in given.items()
    ]


def list_profiles() -> list[dict]:
    """Profiles with their tasks and methods."""
    return [
        {
            "name": one.name,
            "tasks": list(one.tasks),
            "models": list(one.models),
            "methods": len(one.explain.methods),
            "threads": one.threads,
        }
        for one in map(config.load_profile, config.profiles())
    ]


CATALOGUES = {
    "corpora": list_corpora,
    "models": list_models,
    "notebooks": list_notebooks,
    "profiles": list_profiles,
}
