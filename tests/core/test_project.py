"""Paths of results: one place knows them, and what is missing says how to make it."""

import pandas as pd
import pytest

from compendium.project import Results, run_name, step_name
from compendium.workflow import parameters


def test_names_of_runs_and_steps():
    assert run_name("snli", "minilm", 1) == "snli-minilm-s1"
    assert step_name("08_joint") == "08_joint"
    assert step_name("03_explain", "snli", "minilm", 1, 0) == "03_explain-snli-minilm-s1-0"


@pytest.mark.parametrize("model", ["tiny", "bess1", "s1"])
@pytest.mark.parametrize(
    "given, part", [({}, "1"), ({"instances": 2}, "1-custom"), ({"methods": ["lime"]}, "1-custom")]
)
def test_attributions_of_a_model_whose_name_looks_like_a_seed(tmp_path, model, given, part):
    """The part was once cut out of the step's name, at the first `s1-`, which `bess1-` holds too."""
    named = parameters.check("03_explain", {"task": "ends1", "model": model, "seed": 1, "shard": 1} | given)
    assert Results(tmp_path).attributions(*named.run()).name == f"ends1-{model}-s1-{part}.parquet"


def test_a_missing_table_says_what_to_run(tmp_path):
    results = Results(tmp_path / "quick")
    with pytest.raises(
        FileNotFoundError, match=r"02_train-a-b-s1_accuracy\.csv: run notebook 02_train, or `attreval run "
    ):
        results.read_table("accuracy", "02_train", "a", "b", 1)
    path = results.table("accuracy", "02_train", "a", "b", 1)
    path.parent.mkdir(parents=True)
    pd.DataFrame({"x": [1]}).to_csv(path, index=False)
    assert results.read_table("accuracy", "02_train", "a", "b", 1).x.tolist() == [1]
