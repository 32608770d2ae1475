"""The trained model of a run (task, model, seed) of a profile."""

from __future__ import annotations

from attreval.models.loading import load_classifier
from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.runs import kept_for_run
from compendium.project import Results


def load_model(results: Results, task: str, model: str, seed: int, profile: Profile):
    """The trained model of a task, ready to be asked, its classes in the task's order."""
    folder, labels = results.model(profile.read_by(task), model, seed), corpora.TASKS[task].labels
    return load_classifier(folder, model, profile.device, profile.models[model].max_length, labels)


@kept_for_run()
def load_model_once(results: Results, profile: Profile, task: str, model: str, seed: int):
    """The model of a run; the parts that a process works on one after the other mostly share it."""
    return load_model(results, task, model, seed, profile)
