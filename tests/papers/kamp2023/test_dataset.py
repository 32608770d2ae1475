"""Data and models of Kamp et al. (2023) beside ours: what can be measured is, and the rest says why not."""

from __future__ import annotations

import pandas as pd
from reference import models
from reference.steps import Recorder

from attreval.core.tables import write_csv
from compendium import corpora
from compendium.papers.common.runs import reported
from compendium.papers.kamp2023 import tables
from compendium.project import Results

ELSEWHERE = {"highlighted_tokens_annotator1_devtest", "highlighted_tokens_annotator2_devtest"}
ELSEWHERE |= {"highlighted_tokens_annotator3_devtest", "annotator_mean_IoU", "annotator_intersection_over_min"}


def test_every_published_quantity_has_a_place():
    """What is not in this table is in that of people's marks."""
    assert set(reported("kamp_dataset_stats").quantity) == set(tables.TITLES) | ELSEWHERE


def test_a_profile_without_the_corpus_says_so():
    found = tables.dataset_table(Recorder())
    assert found.ours.isna().all() and set(found.reason) == {tables.NO_TASK} and len(found) == len(tables.TITLES)


def test_what_is_there_is_counted(tmp_path, monkeypatch):
    step = Recorder()
    esnli = step.profile.tasks["snli"].changed(models=["tiny"], of_model={}, judges=["agreement"])
    step.profile = step.profile.model_copy(update={"tasks": {"snli": esnli, "esnli": esnli}})
    step.results = Results(tmp_path)
    accuracy = pd.DataFrame({"train_rows": [96], "macro_f1": [0.25]})
    write_csv(step.results.table("accuracy", "02_train", "snli", "tiny", 1), accuracy)
    texts = {"dev": ["a b"], "test": ["a film was", "the film was very slow"]}
    monkeypatch.setattr(corpora, "load", lambda task, split: [models.instance(t, "not bad") for t in texts[split]])
    found = tables.dataset_table(step).set_index("quantity")
    assert found.ours[["dev_rows", "test_rows", "words_min", "words_max"]].tolist() == [1, 2, 4, 7]
    assert found.ours["words_mean"] == round((4 + 5 + 7) / 3, 3) and found.ours["max_len_subtokens"] == 64
    assert found.ours["train_rows_after_drop"] == 96 and found.ours["macro_f1_test"] == 0.25
    assert found.published["test_rows"] == 9824 and found.reason["test_rows"] == ""
    assert set(found[found.reason != ""].reason) == {tables.ELSEWHERE} and found.ours["macro_f1_dev"] != 0.25
