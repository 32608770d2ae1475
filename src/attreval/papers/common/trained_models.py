"""The trained model of a run (task, model, seed) of a profile, and what methods may spend on it."""

from __future__ import annotations

from functools import lru_cache

from attreval import corpora
from attreval.config import ExplainSpec, Profile
from attreval.core.project import Results
from attreval.explain.method import Budget


def load_model(results: Results, task: str, model: str, seed: int, profile: Profile):
    """The trained model of a task, ready to be asked, its classes in the task's order."""
    from attreval.models.loading import load_classifier

    folder, labels = results.model(profile.read_by(task), model, seed), corpora.TASKS[task].labels
    return load_classifier(folder, model, profile.device, profile.models[model].max_length, labels)


def budget_of(spec: ExplainSpec) -> Budget:
    """What a profile lets methods spend."""
    return Budget(**{name: getattr(spec, name) for name in Budget.__dataclass_fields__ if hasattr(spec, name)})


@lru_cache(maxsize=1)
def load_model_once(results: Results, task: str, model: str, seed: int, profile_text: str):
    """The model of a run; the parts that a process judges one after the other mostly share it."""
    return load_model(results, task, model, seed, Profile.model_validate_json(profile_text))
