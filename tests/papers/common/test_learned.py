"""A model that is not surely better than naming the most frequent class has not learned its task."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from compendium.papers.common.learned import drop_unlearned, unlearned_table

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
