"""What notebook 04 calls: hits over runs, blocks, exceptions, and texts to be shown, on a planted
model.
"""

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT, models
from reference.profiles import TASK, TINY

from attreval.core.records import Attribution, Evidence, Tokens
from attreval.core.tables import write_attributions, write_csv, write_tokens
from attreval.methods.method import Budget
from compendium import config, project
from compendium.config import Profile
from compendium.config.reading import VARIANTS
from compendium.corpora import written
from compendium.papers.poerner2018 import figures, hits
from compendium.papers.poerner2018.other_choices import other_choices, tried_run
from compendium.papers.poerner2018.tables import ARCHITECTURES, table_2, write_blocks
from compendium.site.declarations import DeclaredNumber, read_declared
from compendium.site.tables import csv_files, read_numbers
from compendium.workflow.parameters import Parameters
from compendium.workflow.step import Step

TEXTS = ("a key b . c d e .", "a b . c key d .", "key a . b .", "c d . e f .")
MODELS = {
    "gru": {"architecture": "gru", "hidden": 8},
    "again": {"architecture": "gru", "hidden": 4},
}
MODELS |= {"cnn": {"architecture": "cnn", "hidden": 8}, "tiny": TINY}


def word_tokens(instance) -> Tokens:
    """Every word is a token."""
    n = len(instance.words)
    none = np.zeros(n, bool)
    return Tokens(
        np.arange(n), instance.words[:, 0], none, np.arange(n), instance.words, ("w",) * n, 0, 0
    )


@pytest.fixture
def step(tmp_path, monkeypatch):
    """A run of notebook 04 over made-up hybrid documents: the class of the sentence that holds the
    key is predicted.
    """
    rows = {"train_rows": 1, "dev_rows": 1, "test_rows": 1}
    tasks = {"bbc": rows | {"models": ["cnn"], "explain_rows": 0}}
    tasks["hybrid_bbc"] = {
        "models": ["cnn"],
        "explain_rows": 4,
        "judges": ["pointing"],
        "explain": {"shards": 1},
    }
    more = {"explain": {"methods": ["gradient_l2", "lrp", "deeplift"]}, "bootstrap": {"draws": 40}}
    profile = Profile(name="made-up", models=MODELS, tasks=tasks, **more)
    made = Step("04_poerner2018", Parameters(), profile, project.Results(tmp_path))
    instances = []
    records = []
    said = []
    for at, text in enumerate(TEXTS):
        plain = models.instance(text, name=f"doc-{at}")
        words = plain.word_texts()
        sentence = np.cumsum([0, *(word == "." for word in words)])[:-1]
        # the first sentence is of class 0, the second of class 1
        classes = tuple(int(k) for k in sentence)
        instances.append(
            models.instance(text, name=f"doc-{at}", evidence=Evidence(classes=classes))
        )
        predicted = classes[words.index("key")] if "key" in words else 4
        said.append({"instance": f"doc-{at}", "label": 0, "predicted": predicted})
        right = np.array([word == "key" for word in words], dtype=float)
        for name, scores in (
            ("lrp", right),
            ("gradient_l2", -right),
            ("deeplift", np.zeros(len(words))),
        ):
            places = tuple((i,) for i in range(len(words)))
            records.append(Attribution(f"doc-{at}", name, predicted, "token", places, scores))
    write_attributions(made.results.attributions("hybrid_bbc", "cnn", 1, 0), records)
    write_csv(
        made.results.tables / "03_explain-hybrid_bbc-cnn-s1-0_instances.csv", pd.DataFrame(said)
    )
    write_tokens(
        made.results.tokens("hybrid_bbc", "cnn", 1, 0), {i.id: word_tokens(i) for i in instances}
    )
    monkeypatch.setattr(hits.runs, "to_explain", lambda *_: instances)
    return made


def test_hits_of_a_planted_model_are_those_of_its_evidence(step):
    played = hits.pointing_hits(step)
    assert hits.attractor_table(step, played).empty
    assert set(played.architecture) == {"CNN"}
    assert set(played.method) == {"random", "random_drawn", "gradient_l2", "lrp", "deeplift"}
    assert played[played.instance == "doc-3"].discarded.ne("").all(), (
        "its class is that of no sentence"
    )
    summary = hits.pointing_accuracy(step, played).set_index("method")
    assert summary.loc["lrp", "accuracy"] == 1 and summary.loc["gradient_l2", "accuracy"] < 1
    assert summary.accuracy["deeplift"] == pytest.approx(summary.accuracy["random"]), (
        "ties by expectation"
    )
    assert summary.instances.eq(3).all() and summary.discarded.eq(0.25).all()


def test_blocks_are_written_with_gaps_and_what_is_no_better_than_chance_is_listed_but_for_norms(
    step,
):
    summary = hits.pointing_accuracy(step, hits.pointing_hits(step))
    exceptions = hits.no_better_than_random(summary)
    assert exceptions.method.tolist() == ["deeplift"]
    step.table("blocks", hits.block_table(summary))
    declared = read_declared(CHECKOUT / "paper" / "numbers.yml", DeclaredNumber)
    numbers = read_numbers(csv_files(step.results.tables), declared)
    assert (numbers["pointing.hybrid.cells"], numbers["pointing.hybrid.beat_random"]) == ("2", "1")
    assert (
        numbers["pointing.topics.best_method"] == "LRP"
        and numbers["pointing.topics.instances"] == "3"
    )
    assert numbers["pointing.sentiment.best"] == "not part of this run"
    write_blocks(step, table_2(summary))
    for block, begins in (
        ("topics", "1.00* ("),
        ("manual", "– (0."),
    ):  # published values, and a gap of ours
        shown = pd.read_csv(step.results.tables / f"04_poerner2018_table2_{block}.csv").set_index(
            "method"
        )
        assert (
            list(shown) == list(ARCHITECTURES)
            and len(shown) == 22
            and shown.CNN["LRP"].startswith(begins)
        )
        assert shown.MINILM.isna().all()


PRINTED = {
    "id": "made-up",
    "label": "business",
    "texts": ["a <u>key b</u> ."],
    "figures": {"2, top": {"model": "gru", "methods": ["lrp"]}, "7": {"model": "cnn"}},
}


def test_a_figure_shows_the_text_that_the_paper_prints_or_that_no_model_reads_it(step, monkeypatch):
    for module in (written, figures):
        monkeypatch.setattr(module, "printed_examples", lambda: {"made-up": PRINTED})
    nothing = figures.printed_text(step, "2, top")
    assert nothing.words == () and nothing.rows == {} and nothing.predicted == "nothing"
    step.profile.tasks["hybrid_bbc"].printed.append("made-up")
    (one,) = written.printed_instances("hybrid_bbc", ["made-up"])
    run = ("hybrid_bbc", "cnn", 1)
    scores = np.array([0.0, 3, 1, -2])
    places = tuple((at,) for at in range(4))
    records = [Attribution(one.id, m, 0, "token", places, scores) for m in ("lrp", "deeplift")]
    write_attributions(step.results.attributions(*run, "printed"), records)
    write_tokens(step.results.tokens(*run, "printed"), {one.id: word_tokens(one)})
    said = pd.DataFrame({"instance": [one.id], "predicted": [2]})
    write_csv(step.results.table("printed", "03_explain", *run, 0), said)
    shown = figures.printed_text(step, "2, top")
    assert shown.words == ("a", "key", "b", ".") and list(shown.rows) == ["LRP"]
    assert shown.rows["LRP"].tolist() == scores.tolist()
    assert shown.evidence.tolist() == [False, True, True, False]
    assert shown.model == "CNN" and shown.predicted == "politics"
    page = figures.appendix(step).data
    assert (
        "Figure 7: CNN predicts politics" in page and "DeepLIFT" in page and "Figure 2" not in page
    )
    assert figures.example_table({"far": nothing}).predicted.tolist() == ["nothing"]


def test_architectures_name_models_where_they_can():
    rows = TASK | {"judges": ["pointing"]}
    tasks = {
        "bbc": rows | {"models": ["gru", "cnn", "tiny"]},
        "imdb": rows | {"models": ["gru", "again"]},
    }
    profile = Profile(name="x", models=MODELS, tasks=tasks, explain={"methods": ["random"]})
    assert hits.architecture_names(profile, "bbc") == {"gru": "GRU", "cnn": "CNN", "tiny": "TINY"}
    assert hits.architecture_names(profile, "imdb") == {"gru": "GRU", "again": "AGAIN"}


# Choices: each field of the paper's variants is tried where it differs, and hits move as far as
# they must


def test_every_field_of_the_variants_and_every_rule_of_windows_is_tried_at_every_other_value():
    found = {(one.field, one.value): one for one in other_choices(Budget())}
    assert {field for field, _ in found} - {"windows"} == set(
        VARIANTS["poerner2018"]["paper"]["explain"]
    )
    limsse = [f"limsse_{what}" for what in ("class", "logit", "probability")]
    windows = [f"{how}_{size}" for how in ("occlusion", "omission") for size in (3, 7)]
    moved = {
        ("limsse_sampling", "random"): limsse,
        ("limsse_solver", "exact"): limsse,
        ("decomposition_output_gate", False): ["decomposition"],
    } | {("windows", rule): windows for rule in ("cut_right", "mean", "whole")}
    assert {key: list(one.methods) for key, one in found.items()} == moved
    gate = found["decomposition_output_gate", False]
    assert gate.texts == 8 and found["windows", "mean"].texts is None
    assert gate.budget == Budget(decomposition_output_gate=False)
    other = {(one.field, one.value) for one in other_choices(gate.budget)}
    assert ("decomposition_output_gate", True) in other and len(other) == 6


def test_windows_are_cut_at_agreement_and_whole_on_documents():
    for name in ("smoke", "quick", "reference"):
        profile = config.load_profile(name)
        for task, _, _ in profile.explained_runs("pointing"):
            cut = "cut" if task.startswith("agreement") else "whole"
            assert profile.explaining_of(task).windows == cut, (name, task)
    # choices are tried on a gated model that reads short texts
    profile = config.load_profile("quick")
    task, model, _ = tried_run(profile)
    assert task == "agreement_parsed" and profile.models[model].architecture == "gru"


def test_ties_move_hits_as_far_as_they_must(step):
    """Gradient norms tie on all words but the key; 3 of 7, 3 of 6 and 2 of 4 of these are
    evidence.
    """
    played = hits.pointing_hits(step)
    found = hits.moved_hits_table(step, played).set_index(["choice", "value"])
    row = found.loc["ties", "first"]
    assert row.largest == pytest.approx((4 / 7 - 3 / 6 + 2 / 4) / 3) and row.method == "gradient_l2"
    assert (row.texts, row.methods, row.on, row.instead_of) == (
        3,
        3,
        "all stored scores",
        "expectation",
    )
    assert row.moved == pytest.approx(6 / 9), (
        "LRP has no tie, the two others have one in every text"
    )
    assert found.loc["affix"].texts.eq(0).all() and len(found.loc["affix"]) == 2


def test_a_choice_that_was_explained_again_is_compared_on_those_texts_alone(step, monkeypatch):
    run = ("hybrid_bbc", "cnn", 1)
    played = hits.pointing_hits(step)
    monkeypatch.setattr(hits, "tried_run", lambda profile: run)
    (exact,) = [one for one in other_choices(Budget()) if one.value == "exact"]
    some = models.instance("a key b . c d e .", name="doc-0")
    wrong = np.array([0, -1, 0, 0, 5, 0, 0, 0.0])
    places = tuple((i,) for i in range(len(wrong)))
    path = step.results.attributions(*run, exact.part)
    write_attributions(path, [Attribution(some.id, "lrp", 0, "token", places, wrong)])
    found = (
        hits.moved_hits_table(step, played)
        .set_index(["choice", "value"])
        .loc["limsse_solver", "exact"]
    )
    assert (found.change, found.largest, found.moved, found.texts, found.methods) == (
        -1,
        -1,
        1,
        1,
        1,
    )
    assert found.on == "1 texts of cnn, hybrid_bbc" and found.instead_of == "descent"


def test_two_methods_point_at_the_same_word_as_often_as_a_count_says(step, monkeypatch):
    """LRP points at the key; the negated scores tie on all other words; a constant hits
    any word.
    """
    met = {text: (methods, common) for _, text, methods, common, _ in hits.words_in_common(step)}
    # in doc-3 all scores are constant, and each method breaks its ties by itself
    expected = {
        "gradient_l2": [0, 0, 0, 1 / 6],
        "deeplift": [1 / 8, 1 / 7, 1 / 5, 1 / 6],
        "lrp": [1, 1, 1, 1 / 6],
    }
    for other, chances in expected.items():
        found = [
            common[methods.index("lrp"), methods.index(other)] for methods, common in met.values()
        ]
        assert found == pytest.approx(chances)
        monkeypatch.setattr(hits, "PAIR", ("lrp", other))
        (share,) = hits.same_word_share(step).itertuples()
        assert share.instances == 4 and share.share == pytest.approx(np.mean(chances))
        assert share.low <= share.share <= share.high
    monkeypatch.setattr(hits, "PAIR", ("lrp", "lime"))
    assert not len(hits.same_word_share(step))


def test_accuracies_stand_beside_the_published(step):
    write_csv(
        step.results.table("accuracy", "02_train", "bbc", "cnn", 1),
        pd.DataFrame({"accuracy": [0.8]}),
    )
    summary = hits.pointing_accuracy(step, hits.pointing_hits(step))
    (row,) = hits.accuracy_beside_published(step, summary).to_dict("records")
    assert (row["experiment"], row["architecture"], row["trained_on"]) == (
        "20newsgroups hybrid",
        "CNN",
        "bbc",
    )
    assert row["published"] == 0.705 and row["ours_less_published"] == pytest.approx(0.095)
    assert (row["discarded"], row["published_low"], row["published_high"]) == (0.25, 0.14, 0.2)
