"""What notebook 03_overview puts together from the tables of shards, with and without those of single texts."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference.profiles import TINY

from attreval.core.tables import write_csv
from compendium.config import Profile
from compendium.papers.pipeline.overview import cost_table, task_table
from compendium.project import Results

MODELS = {"long": 3, "short": 2}  # texts that each is explained on, in shards of one and the rest


@pytest.fixture
def step(tmp_path):
    """A step whose run has explained texts of 4, 6, ... tokens with two models, in two shards each."""
    spec = {"models": list(MODELS), "train_rows": 4, "dev_rows": 2, "test_rows": 4, "explain_rows": 3}
    given = {"models": dict.fromkeys(MODELS, TINY), "explain": {"methods": ["lime"], "shards": 2}}
    profile = Profile(name="made-up", tasks={"snli": spec | {"of_model": {"short": {"explain_rows": 2}}}}, **given)
    results = Results(tmp_path)
    for model, texts in MODELS.items():
        for shard, some in enumerate((range(1), range(1, texts))):
            run = ("03_explain", "snli", model, 1, shard)
            tokens = np.array([4 + 2 * at for at in some])
            asked = pd.DataFrame(
                {"method": ["prediction", "lime"], "instances": len(some), "requested": [1.0, 10.0], "gradients": 0.0}
                | {"unique": [1.0, 8.0], "reused": [0.0, 2.0], "unique_tokens": 1.0}
                | {"requested_tokens": [tokens.mean(), 10 * tokens.mean()]}
            )
            single = pd.DataFrame(
                {"instance": [f"t{at}" for at in some], "tokens": tokens, "dropped": [at % 2 for at in some]}
                | {"predicted": 1, "label": [at % 2 for at in some], "gap": 0.5, "gap_share": 0.25}
            )
            precise = pd.DataFrame({"method": ["lime"], "precision": ["float32"], "correlation": [1.0], "instances": 1})
            for name, table in (("cost", asked), ("instances", single), ("precision", precise)):
                write_csv(results.table(name, *run), table)
    return SimpleNamespace(profile=profile, results=results)


def test_tables_of_single_texts_say_how_right_the_explained_predictions_are(step):
    row = task_table(step, cost_table(step)).iloc[0]
    assert (row.task, row.instances, row.tokens_mean, row.truncated) == ("snli", 3, 6.0, 1)
    assert (row.accuracy, row.gap_max, row.gap_share_max) == (2 / 5, 0.5, 0.25)
    assert (row.reused_share, row.sampled_precision, row.sampled_correlation) == (pytest.approx(2 / 11), "float32", 1.0)


def test_without_them_texts_are_counted_by_what_was_asked_and_the_rest_is_unknown(step):
    whole = task_table(step, cost_table(step)).iloc[0]
    for path in step.results.tables.glob("*_instances.csv"):
        path.unlink()
    row = task_table(step, cost_table(step)).iloc[0]
    unknown = ["truncated", "accuracy", "gap_max", "gap_share_max"]
    assert row[unknown].isna().all()
    assert row.drop(unknown).to_dict() == pytest.approx(whole.drop(unknown).to_dict())


def test_a_shard_that_lacks_its_costs_is_an_error(step):
    step.results.table("cost", "03_explain", "snli", "short", 1, 1).unlink()
    with pytest.raises(FileNotFoundError, match="run notebook 03_explain"):
        cost_table(step)
