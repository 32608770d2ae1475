"""What notebook 04 calls: hits over runs, blocks, exceptions, and texts to be shown, on a planted model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT, models

from attreval.core.records import Attribution, Evidence, Tokens
from attreval.core.tables import write_attributions, write_csv
from attreval.core.token_tables import write_tokens
from compendium import project
from compendium.config import Profile
from compendium.papers.poerner2018 import figures
from compendium.papers.poerner2018 import hits as pointing
from compendium.papers.poerner2018.tables import ARCHITECTURES, BLOCKS, table_2, write_blocks
from compendium.site.numbers import read_declared_numbers, read_numbers
from compendium.workflow.parameters import Parameters
from compendium.workflow.step import Step

TEXTS = ("a key b . c d e .", "a b . c key d .", "key a . b .", "c d . e f .")
MODELS = {"gru": {"architecture": "gru", "hidden": 8}, "again": {"architecture": "gru", "hidden": 4}}
MODELS |= {
    "cnn": {"architecture": "cnn", "hidden": 8},
    "tiny": {"layers": 1, "hidden": 8, "heads": 1, "tokenizer": "x"},
}


def word_tokens(instance) -> Tokens:
    """Every word is a token."""
    n = len(instance.words)
    none = np.zeros(n, bool)
    return Tokens(np.arange(n), instance.words[:, 0], none, np.arange(n), instance.words, ("w",) * n, 0, 0)


@pytest.fixture
def step(tmp_path, monkeypatch):
    """A run of notebook 04 over made-up hybrid documents: the class of the sentence that holds the key is predicted."""
    rows = {"train_rows": 1, "dev_rows": 1, "test_rows": 1}
    methods = ["gradient_l2", "lrp", "deeplift"]
    profile = Profile(
        name="made-up",
        models=MODELS,
        tasks={
            "bbc": rows | {"models": ["cnn"], "explain_rows": 0},
            "hybrid_bbc": {"models": ["cnn"], "explain_rows": 4, "judges": ["pointing"], "explain": {"shards": 1}},
        },
        explain={"methods": methods},
        bootstrap={"draws": 40},
    )
    made = Step("04_poerner2018", Parameters(), profile, project.Results(tmp_path))
    instances, records, said = [], [], []
    for at, text in enumerate(TEXTS):
        plain = models.instance(text, name=f"doc-{at}")
        words = plain.word_texts()
        sentence = np.cumsum([0, *(word == "." for word in words)])[:-1]
        classes = tuple(int(k) for k in sentence)  # the first sentence is of class 0, the second of class 1
        instances.append(models.instance(text, name=f"doc-{at}", evidence=Evidence(classes=classes)))
        predicted = classes[words.index("key")] if "key" in words else 4
        said.append({"instance": f"doc-{at}", "label": 0, "predicted": predicted})
        right = np.array([word == "key" for word in words], dtype=float)
        for name, scores in (("lrp", right), ("gradient_l2", -right), ("deeplift", np.zeros(len(words)))):
            places = tuple((i,) for i in range(len(words)))
            records.append(Attribution(f"doc-{at}", name, predicted, "token", places, scores))
    write_attributions(made.results.attributions("hybrid_bbc", "cnn", 1, 0), records)
    write_csv(made.results.tables / "03_explain-hybrid_bbc-cnn-s1-0_instances.csv", pd.DataFrame(said))
    write_tokens(made.results.tokens("hybrid_bbc", "cnn", 1, 0), {i.id: word_tokens(i) for i in instances})
    for module in (pointing, figures):
        monkeypatch.setattr(module, "to_explain", lambda *_: instances)
    return made


def test_hits_of_a_planted_model_are_those_of_its_evidence(step):
    hits = pointing.pointing_hits(step)
    assert pointing.attractor_table(step, hits).empty
    assert set(hits.architecture) == {"CNN"}
    assert set(hits.method) == {"random", "random_drawn", "gradient_l2", "lrp", "deeplift"}
    assert hits[hits.instance == "doc-3"].discarded.ne("").all(), "its class is that of no sentence"
    summary = pointing.accuracy_table(step, hits).set_index("method")
    assert summary.loc["lrp", "accuracy"] == 1 and summary.loc["gradient_l2", "accuracy"] < 1
    assert summary.loc["deeplift", "accuracy"] == pytest.approx(summary.loc["random", "accuracy"]), (
        "ties by expectation"
    )
    assert summary.instances.eq(3).all() and summary.discarded.eq(0.25).all()


def test_what_does_no_better_than_chance_is_listed_and_norms_are_not(step):
    summary = pointing.accuracy_table(step, pointing.pointing_hits(step))
    exceptions = pointing.no_better_than_random(summary)
    assert exceptions.method.tolist() == ["deeplift"]
    step.table("blocks", pointing.block_table(summary))
    numbers = read_numbers(step.results.tables, read_declared_numbers(CHECKOUT / "paper" / "numbers.yml"))
    assert (numbers["pointing.hybrid.cells"], numbers["pointing.hybrid.beat_random"]) == ("2", "1")
    assert numbers["pointing.topics.best_method"] == "LRP" and numbers["pointing.topics.instances"] == "3"
    assert numbers["pointing.sentiment.best"] == "not part of this run"


def test_every_block_is_written_whether_a_profile_has_it_or_not(step):
    summary = pointing.accuracy_table(step, pointing.pointing_hits(step))
    write_blocks(step, table_2(summary))
    topics = pd.read_csv(step.results.tables / "04_poerner2018_table2_topics.csv")
    assert list(topics) == ["method", *ARCHITECTURES] and len(topics) == 22
    assert topics.set_index("method").loc["LRP", "CNN"].startswith("1.00* (")
    manual = pd.read_csv(step.results.tables / "04_poerner2018_table2_manual.csv")
    assert list(manual) == ["method", *ARCHITECTURES] and len(manual) == 22
    shown = manual.set_index("method")
    assert shown.loc["LRP", "CNN"].startswith("– (0.") and shown.MINILM.isna().all(), (
        "published values, and a gap of ours"
    )


def test_an_example_is_the_shortest_text_on_which_methods_differ(step):
    example = figures.shortest_example(step, BLOCKS["topics"].tasks, "gru", ["lrp", "gradient_l2", "lime"])
    assert example.words == tuple(models.instance(TEXTS[2]).word_texts()) and example.after == ""
    assert list(example.rows) == ["LRP", "Gradient (L2)"], "of the methods asked those that were run"
    assert example.evidence.tolist() == [True, True, True, False, False]
    assert example.model == "CNN"


def test_a_profile_without_a_kind_of_text_has_an_empty_example(step):
    example = figures.figure_2(step, "plural")
    assert example.words == () and example.rows == {}
    assert figures.example_table({"plural": example}).predicted.tolist() == ["nothing"]


def test_architectures_name_models_where_they_can():
    rows = {"train_rows": 1, "dev_rows": 1, "test_rows": 1, "explain_rows": 1}
    tasks = {"bbc": rows | {"models": ["gru", "cnn", "tiny"]}, "imdb": rows | {"models": ["gru", "again"]}}
    profile = Profile(name="x", models=MODELS, tasks=tasks, explain={"methods": ["random"]})
    assert pointing.architecture_names(profile, "bbc") == {"gru": "GRU", "cnn": "CNN", "tiny": "TINY"}
    assert pointing.architecture_names(profile, "imdb") == {"gru": "GRU", "again": "AGAIN"}
