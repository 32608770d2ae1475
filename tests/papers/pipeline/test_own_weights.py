"""Weights of people's own are copied with their classes named right, or the run stops."""

from types import SimpleNamespace

import pytest
from reference import architectures as shapes

from compendium.config import ModelSpec
from compendium.papers.pipeline.training import _copy_trained

SNLI = ("entailment", "neutral", "contradiction")


def copy(tmp_path, own, given):
    """The copy of a classifier whose configuration names its classes `own`, where a profile says `given`."""
    names = {"id2label": dict(enumerate(own)), "label2id": {name: k for k, name in enumerate(own)}}
    source = shapes.save_tiny("roberta", tmp_path / "mine", **names)
    spec = ModelSpec(weights=str(source), labels=given, max_length=64)
    step = SimpleNamespace(
        parameters=SimpleNamespace(task="snli", model="mine", seed=1),
        profile=SimpleNamespace(models={"mine": spec}, device="cpu"),
    )
    model, curve = _copy_trained(step, SNLI, tmp_path / "results" / "mine")
    assert (tmp_path / "results" / "mine" / "model.safetensors").exists() and not len(curve)
    return model


@pytest.mark.parametrize("given", [list(SNLI), ["contradiction", "entailment", "neutral"], None])
def test_classes_that_have_names_keep_them(tmp_path, given):
    """README's list, in another order than the model's own, turns nothing around."""
    model = copy(tmp_path, ("contradiction", "entailment", "neutral"), given)
    assert model.labels == SNLI and model.order == [1, 2, 0]


def test_numbered_outputs_take_the_names_that_the_profile_gives(tmp_path):
    model = copy(tmp_path, ("LABEL_0", "LABEL_1", "LABEL_2"), ["contradiction", "entailment", "neutral"])
    assert model.labels == SNLI and model.order == [1, 2, 0]


def test_other_names_stop_the_run(tmp_path):
    with pytest.raises(ValueError, match="names its classes a, b, c; `labels` says entailment, neutral, contradiction"):
        copy(tmp_path, ("a", "b", "c"), list(SNLI))
    with pytest.raises(ValueError, match=r"has classes LABEL_0, .* name the model's classes, in its order"):
        copy(tmp_path, ("LABEL_0", "LABEL_1", "LABEL_2"), None)
