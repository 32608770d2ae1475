"""A task of a profile may change for one of its models."""

from __future__ import annotations

import pytest
from reference.profiles import TASK, TINY

from compendium.config import Profile


def changed(**more):
    """A profile whose task has two models, with changes for one of them."""
    task = TASK | {"models": ["tiny", "other"], "train_rows": 8, "of_model": {"other": more}}
    return Profile.model_validate(
        {
            "name": "test",
            "models": {"tiny": TINY, "other": TINY},
            "tasks": {"rotten_tomatoes": task | {"training": {"epochs": 2}}},
            "explain": {"methods": ["random"]},
        }
    )


def test_a_task_changes_for_one_of_its_models():
    made = changed(
        train_rows=4, explain_rows=0, training={"tokens": 9}, also_train={"imdb": {"rows": 2, "last_words": 3}}
    )
    assert made.task_of("rotten_tomatoes", "tiny").train_rows == 8
    assert made.task_of("rotten_tomatoes", "other").train_rows == 4
    assert made.training_of("rotten_tomatoes", "other").tokens == 9
    assert made.training_of("rotten_tomatoes", "other").epochs == 2
    assert made.training_of("rotten_tomatoes", "tiny").tokens is None
    assert made.explained_runs("faithfulness") == [("rotten_tomatoes", "tiny", 1)]
    assert made.read_tasks() == ["rotten_tomatoes", "imdb"]
    assert changed(judges=["agreement"]).explained_runs("agreement") == [("rotten_tomatoes", "other", 1)]


@pytest.mark.parametrize(
    "more, words",
    [
        ({"shards": 2}, "unknown key 'shards'; allowed are: train_rows"),
        ({"training": {"tokns": 9}}, "unknown training key 'tokns'"),
        ({"train_rows": "many"}, "train_rows"),
    ],
)
def test_changes_for_one_model_are_checked(more, words):
    with pytest.raises(ValueError, match=words):
        changed(**more)
