"""The trained model of a run (task, model, seed) of a profile."""

from pathlib import Path
from typing import TYPE_CHECKING

from compendium import corpora
from compendium.config import Judge, Profile, Run
from compendium.papers.common.runs import kept_for_run
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

if TYPE_CHECKING:  # claims are judged again without torch
    from attreval.models.scorer import Scorer
    from attreval.models.transformer import Transformer
    from attreval.models.words.classifier import WordClassifier


def load_model(
    results: Results, profile: Profile, task: str, model: str, seed: int
) -> "Transformer | WordClassifier":
    """The trained model of a run, its classes in the task's order."""
    from attreval.models.erasing import erase_to
    from attreval.models.loading import load_classifier

    spec = profile.models[model]
    (file,) = model_files(results, profile, task, model, seed)
    labels = corpora.TASKS[task].labels
    network = load_classifier(file.parent, model, profile.device, spec.max_length, labels)
    if spec.erase:
        erase_to(network, spec.erase)
    return network


def model_files(results: Results, profile: Profile, task: str, model: str, seed: int) -> list[Path]:
    """What a run's model is read from, as far as training it anew changes it."""
    trained = profile.models[model].same_as or model
    return [results.model(profile.read_by(task), trained, seed) / "model.safetensors"]


# parts that a process works on one after the other mostly share a model
load_model_once = kept_for_run(model_files)(load_model)


def open_run(results: Results, profile: Profile, run: Run) -> "Scorer":
    """The ledger of a run's model, in a process whose threads are set as the profile says."""
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    budget = profile.explaining_of(run[0]).token_budget
    return Scorer(load_model_once(results, profile, *run), budget)


def first_network(step: Step, judge: Judge, *trained_on: str) -> "Transformer | WordClassifier":
    """The network of a judge's first run, of one trained on these tasks if there is one."""
    runs = step.profile.explained_runs(judge)
    run = min(runs, key=lambda run: step.profile.read_by(run[0]) not in trained_on)
    return load_model(step.results, step.profile, *run)
