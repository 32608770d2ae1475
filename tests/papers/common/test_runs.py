"""What is stored of a run is read once a profile; which models have not learned their task."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import models

from attreval.core.records import Attribution
from attreval.core.tables import write_attributions, write_tokens
from compendium import config
from compendium.papers.common.runs import (
    PUBLISHED,
    drop_unlearned,
    kept_for_run,
    load_records_once,
    reported,
    unlearned_table,
)
from compendium.papers.joint.values import read_stored_metrics
from compendium.papers.kamp2023 import readings
from compendium.project import Results
from compendium.workflow.instance_values import COLUMNS

ACCURACIES = {  # accuracy, low, high, majority
    "surely": (0.8, 0.7, 0.9, 0.6),
    "perhaps": (0.7, 0.55, 0.8, 0.6),
    "level": (0.7, 0.6, 0.8, 0.6),
    "unknown": (0.5, float("nan"), float("nan"), 0.4),
    "multirc": (0.58, 0.57, 0.6, 0.5),
    "sst2": (0.76, 0.7, 0.8, 0.5),
    "fever": (0.9, 0.9, 0.9, 0.5),
}


@pytest.fixture
def step():
    """Results of which the task `pair` is read by the model of `surely`."""

    def read_table(name, notebook, task, model, seed):
        assert (name, notebook) == ("accuracy", "02_train")
        columns = ["accuracy", "accuracy_low", "accuracy_high", "majority"]
        return pd.DataFrame([ACCURACIES[task]], columns=columns).assign(
            macro_f1=ACCURACIES[task][0]
        )

    profile = SimpleNamespace(read_by=lambda task: {"pair": "surely"}.get(task, task))
    return SimpleNamespace(results=SimpleNamespace(read_table=read_table), profile=profile)


def test_models_that_are_not_surely_above_the_majority_are_named(step):
    runs = [(task, "m", seed) for task in (*ACCURACIES, "pair") for seed in (1, 2)]
    found = unlearned_table(step, runs)
    assert list(found.task.unique()) == ["perhaps", "level", "unknown", "multirc", "fever"]
    why = "perhaps: no better than the most frequent class"
    assert found.iloc[0].tolist() == ["perhaps", "m", 1, 0.7, 0.55, 0.8, 0.6, why]
    assert found.drop_duplicates("task").reason.tolist()[3:] == [
        "multirc: macro_f1 0.58, published 0.74",
        "fever: its third label is made by removing evidence",
    ]
    own = unlearned_table(step, runs, of_papers=False)
    assert list(own.task.unique()) == ["perhaps", "level", "unknown"]


def test_one_gate_stands_for_all_papers_at_the_least_that_each_publishes():
    """On the paper's own measure, as its tables have it."""
    zhao = reported("zhao_table1_data").set_index("dataset").f1_mean / 100
    sun = reported("sun_base_f1").groupby("dataset").test_f1.min() / 100
    poerner = reported("poerner_task_accuracy").set_index("task").min(axis=1)
    names = {"SST": "sst2", "AG": "ag_news", "EvInf": "evidence_inference", "MultiRC": "multirc"}
    names |= {"20newsgroups": "newsgroups", "morphosyntactic_agreement": "agreement_linzen"}
    every = pd.concat([zhao, sun, poerner])
    least = {names.get(name, name.lower()): one for name, one in every.items()}
    assert {name: score for name, (_, score) in PUBLISHED.items()} == pytest.approx(least)


def test_their_rows_are_dropped_while_others_are_left(step):
    frame = pd.DataFrame(
        {"task": ["surely", "level"], "model": "m", "seed": 1, "value": [1.0, 2.0]}
    )
    unlearned = unlearned_table(
        step, frame[["task", "model", "seed"]].itertuples(index=False, name=None)
    )
    assert drop_unlearned(frame, unlearned).value.tolist() == [1.0]
    alone = frame[1:]
    assert drop_unlearned(alone, unlearned) is alone
    assert drop_unlearned(frame, unlearned_table(step, [])).equals(frame)


def test_what_is_kept_for_a_run_is_that_of_one_profile_and_of_files_as_they_are(tmp_path):
    """In a live kernel, an edited profile asks for other attributions of the same run, and so do
    new files.
    """
    asked = []
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    files[0].write_text("scores")

    @kept_for_run(lambda results, profile, *run: files, 2)
    def load(results, profile, *run):
        asked.append((profile.explain.shards, run))
        return asked[-1]

    results = SimpleNamespace(root="here")
    one = config.load_profile("smoke")
    edited = one.model_copy(update={"explain": one.explain.changed(shards=one.explain.shards + 1)})
    for profile in (one, edited, one, config.load_profile("smoke")):
        assert load(results, profile, "snli", "m", 1) == (profile.explain.shards, ("snli", "m", 1))
    assert len(asked) == 2
    for path, more in ((files[0], "other scores"), (files[1], "scores")):
        path.write_text(more)
        load(results, config.load_profile("smoke"), "snli", "m", 1)
        load(results, config.load_profile("smoke"), "snli", "m", 1)
    assert len(asked) == 4


def test_in_a_live_kernel_what_another_notebook_has_written_anew_is_read(
    tmp_path, tiny, monkeypatch
):
    results = Results(tmp_path)
    run = ("snli", "m", 1)
    text = models.instance("good film")
    profile = config.load_profile("smoke")
    tokens = tiny.tokens(text)
    monkeypatch.setattr(readings, "to_explain", lambda *given: [text])
    step = SimpleNamespace(results=results, profile=profile)
    for value in (1.0, 0.25):
        for shard in range(profile.explaining_of("snli").shards):
            made = Attribution(text.id, "lime", 0, "token", ((1,), (2,)), np.array([value, 0.0]))
            write_attributions(results.attributions(*run, shard), [made])
            write_tokens(results.tokens(*run, shard), {text.id: tokens})
        row = dict(zip(COLUMNS, (*run, text.id, "lime", "soft_nc_equal", value), strict=True))
        kept = results.kept("instances", "06_zhao2023")
        kept.parent.mkdir(exist_ok=True)
        pd.DataFrame([row]).to_parquet(kept)
        assert load_records_once(results, profile, *run)[text.id]["lime"].scores[0] == value
        assert readings.read_run(step, run)[0].scores["lime"][0] == value
        assert (
            read_stored_metrics(results, profile, *run)[text.id]["soft_nc_equal", "lime"] == value
        )
