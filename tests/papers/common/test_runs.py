"""What is stored of a run is read once a profile; which models have not learned their task."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from compendium import config
from compendium.papers.common.runs import drop_unlearned, kept_for_run, unlearned_table

ACCURACIES = {  # accuracy, low, high, majority
    "surely": (0.8, 0.7, 0.9, 0.6),
    "perhaps": (0.7, 0.55, 0.8, 0.6),
    "level": (0.7, 0.6, 0.8, 0.6),
    "unknown": (0.5, float("nan"), float("nan"), 0.4),
}


@pytest.fixture
def step():
    """Results of which the task `pair` is read by the model of `surely`."""

    def read_table(name, notebook, task, model, seed):
        assert (name, notebook) == ("accuracy", "02_train")
        return pd.DataFrame([ACCURACIES[task]], columns=["accuracy", "accuracy_low", "accuracy_high", "majority"])

    read_by = {"pair": "surely"}
    return SimpleNamespace(
        results=SimpleNamespace(read_table=read_table),
        profile=SimpleNamespace(read_by=lambda task: read_by.get(task, task)),
    )


def test_models_that_are_not_surely_above_the_majority_are_named(step):
    runs = [(task, "m", seed) for task in (*ACCURACIES, "pair") for seed in (1, 2)]
    found = unlearned_table(step, runs)
    assert list(found.task.unique()) == ["perhaps", "level", "unknown"]
    assert found.iloc[0].tolist() == ["perhaps", "m", 1, 0.7, 0.55, 0.8, 0.6]


def test_their_rows_are_dropped_while_others_are_left(step):
    frame = pd.DataFrame({"task": ["surely", "level"], "model": "m", "seed": 1, "value": [1.0, 2.0]})
    unlearned = unlearned_table(step, frame[["task", "model", "seed"]].itertuples(index=False, name=None))
    assert drop_unlearned(frame, unlearned).value.tolist() == [1.0]
    alone = frame[1:]
    assert drop_unlearned(alone, unlearned) is alone
    assert drop_unlearned(frame, unlearned_table(step, [])).equals(frame)


def test_what_is_kept_for_a_run_is_that_of_one_profile():
    """In a live kernel, an edited profile asks for other attributions of the same run."""
    asked = []

    @kept_for_run(2)
    def load(results, profile, *run):
        asked.append((profile.explain.shards, run))
        return asked[-1]

    results, one = SimpleNamespace(root="here"), config.load("smoke")
    edited = one.model_copy(update={"explain": one.explain.changed(shards=one.explain.shards + 1)})
    for profile in (one, edited, one, config.load("smoke")):
        assert load(results, profile, "snli", "m", 1) == (profile.explain.shards, ("snli", "m", 1))
    assert len(asked) == 2
