"""What the notebooks call, where it can be told without a run: training sets, costs, gaps, pairs of
methods.
"""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from reference import architectures, models
from reference.profiles import TINY

from attreval.core.records import Attribution, Cost, Evidence, Instance
from attreval.core.tables import write_csv
from attreval.methods import METHODS
from attreval.methods.method import Budget, UnitSettings
from attreval.models.scorer import Scorer
from compendium import corpora
from compendium.config import AlsoTrain, ModelSpec, Profile, TaskSpec, load_profile
from compendium.papers.common.runs import load_printed
from compendium.papers.kamp2023.agreement import group_of, matrix_at_k
from compendium.papers.pipeline import explaining, training
from compendium.papers.pipeline.data import draw_lengths
from compendium.papers.pipeline.explaining import check_gaps, precision_table, sum_costs
from compendium.papers.pipeline.overview import cost_table, task_table
from compendium.papers.pipeline.training import (
    around_marks,
    confusion_table,
    last_words,
    shortened,
    training_set,
)
from compendium.project import Results
from compendium.workflow.parameters import check_parameters
from compendium.workflow.step import Step

ROWS = {"models": ["tiny"], "train_rows": 4, "dev_rows": 2, "test_rows": 2, "explain_rows": 1}


def test_last_words_keep_the_last_words_and_their_places():
    whole = models.instance("First this , then that .", name="x", label=1)
    for words in (1, 3, 50):
        cut = last_words(whole, words)
        assert cut.word_texts() == whole.word_texts()[-words:]
        assert whole.segments[0].endswith(cut.segments[0]) and cut.label == 1


def test_around_marks_are_the_marked_words_and_their_neighbours():
    marks = np.zeros((2, 10))
    marks[0, 2] = marks[1, 5] = marks[1, 9] = 1
    starts = [(0, at) for at in (0, 2, 4, 7, 9, 11, 13, 14, 16)] + [(1, 0)]
    places = np.array([(part, at, at + 1) for part, at in starts])
    texts = ("a b c, d e f g. h", "q")
    whole = Instance("x", texts, 1, places, "train", Evidence(marks=marks))
    kept = {0: "c f", 1: "b c, d e f g", 2: "a b c, d e f g.", 9: texts[0]}
    for words, text in kept.items():
        cut = around_marks(whole, words)
        assert cut.segments == (text, "q") and cut.label == 1
        letters = [*re.sub("[ ,]", "", text), "q"]
        assert cut.word_texts() == letters, words


def test_what_nobody_marked_is_not_trained_on_besides():
    whole = models.instance("a b c", "q", name="x", label=1)
    assert shortened(whole, AlsoTrain(rows=1, around_marks=[3])) == []
    for given in ({}, {"last_words": 2, "around_marks": [1]}):
        with pytest.raises(ValueError, match="`last_words`, or `around_marks`"):
            AlsoTrain(rows=1, **given)


def test_training_set_adds_the_other_task(monkeypatch):
    given = {"rotten_tomatoes": ["a b c"] * 4, "imdb": ["d e f g h"] * 3}

    def load(task, split, rows):
        assert split == "train"
        return [
            models.instance(text, name=f"{task}-{i}") for i, text in enumerate(given[task][:rows])
        ]

    monkeypatch.setattr(corpora, "load_task", load)
    spec = TaskSpec(**ROWS, also_train={"imdb": AlsoTrain(rows=2, last_words=2)})
    texts = [i.segments[0] for i in training_set("rotten_tomatoes", spec)]
    assert texts == ["a b c"] * 4 + ["g h"] * 2


def record(method, gap=float("nan"), cost=None, scores=(1.0, 2.0)):
    return Attribution("x", method, 0, "token", ((1,), (2,)), np.array(scores), gap, cost or Cost())


def test_a_gap_is_an_error_only_where_more_nodes_were_allowed():
    free = Budget(path_steps=8, path_steps_most=64)
    fixed = Budget(path_steps=50, path_steps_most=50)
    small = record("integrated_gradients", 0.05)  # of about 3 owed: within 2 %
    large = record("integrated_gradients", 0.2)
    check_gaps([small, record("lime")], free)
    check_gaps([large], fixed)
    with pytest.raises(ArithmeticError, match="path_steps_most"):
        check_gaps([large], free)


def test_costs_are_summed_by_method_and_shared_out():
    records = [
        record("lime", cost=Cost(10, 8, 100, 80)),
        record("lime", cost=Cost(20, 20, 200, 200)),
        record("random"),
    ]
    table = sum_costs(records, Cost(2, 2, 20, 20), 2).set_index("method")
    assert table.loc["lime", ["requested", "unique", "reused"]].tolist() == [15, 14, 1]
    assert table.loc["prediction", "requested"] == 1 and table.loc["random", "requested"] == 0


PAIRS = {("random", "lime"): "with random", ("lime", "gradient_l2"): "gradient and perturbation"}
PAIRS |= {
    ("occlusion_1", "lime"): "both perturbation",
    ("attention", "scaled_attention"): "both attention",
}
PAIRS |= {
    ("deeplift", "lime"): "perturbation and propagation",
    ("attention", "gradient_l1"): "gradient and attention",
}
PAIRS |= {("integrated_gradients_zero", "gradient_x_input_absolute"): "both gradient"}


def test_pairs_of_methods_are_named_by_kind_and_their_matrix_is_symmetric():
    assert {pair: group_of(*pair) for pair in PAIRS} == PAIRS
    rows = [("snli", "random", "lime", k, 0.5 + k / 10) for k in (1, 2)]
    table = pd.DataFrame(rows, columns=["task", "method_a", "method_b", "k", "agreement"])
    matrix = matrix_at_k(table, 4)["snli"]  # the largest k that there is
    assert matrix.loc["Random", "LIME"] == matrix.loc["LIME", "Random"] == 0.7
    assert matrix.loc["LIME", "LIME"] == 1


def test_confusion_keeps_classes_that_nobody_predicts():
    table = confusion_table(np.array([0, 2, 2]), np.array([0, 2, 0]), ("a", "b", "c"))
    assert table.to_numpy().tolist() == [[1, 0, 0], [0, 0, 0], [1, 0, 1]]


def profile(**tasks) -> Profile:
    """A profile of these tasks with two word-level models and a tiny transformer."""
    words = {"architecture": "gru", "hidden": 8}
    models = {"tiny": {"layers": 1, "hidden": 8, "heads": 1, "tokenizer": "minilm"}, "other": words}
    models["gru"] = words | {"training": {"epochs": 4, "patience": 9}}
    return Profile(
        name="made-up", models=models, tasks=tasks, explain={"methods": ["random"], "shards": 2}
    )


BBC = ROWS | {"models": ["gru", "other"], "seeds": [1, 2], "explain_rows": 0}
HYBRID = {"models": ["gru"], "explain_rows": 5}


def test_runs_are_trained_once_and_read_by_the_tasks_made_from_theirs():
    also = {"explain_rows": 0, "also_train": {"imdb": {"rows": 1, "last_words": 1}}}
    hybrid = HYBRID | {"seeds": [2], "judges": ["pointing"]}
    made = profile(
        bbc=BBC, hybrid_bbc=hybrid, snli=ROWS | {"explain_rows": 2}, rotten_tomatoes=ROWS | also
    )
    assert made.read_by("hybrid_bbc") == "bbc" and made.read_by("bbc") == "bbc"
    bbc = [("bbc", model, seed) for model in ("gru", "other") for seed in (1, 2)]
    assert made.trained_runs() == [*bbc, ("snli", "tiny", 1), ("rotten_tomatoes", "tiny", 1)]
    assert made.explained_runs() == [("hybrid_bbc", "gru", 2), ("snli", "tiny", 1)]
    assert made.explained_runs("pointing") == [("hybrid_bbc", "gru", 2)]
    assert (
        made.explained_runs("agreement")
        == made.explained_runs("faithfulness")
        == [("snli", "tiny", 1)]
    )
    assert set(made.read_tasks()) == {"bbc", "hybrid_bbc", "snli", "rotten_tomatoes", "imdb"}


def test_changes_go_from_profile_to_model_to_task():
    fewer = {"explain_rows": 9, "of_model": {"gru": {"explain_rows": 4}}}
    made = profile(bbc=BBC | {"training": {"patience": 5}, "explain": {"shards": 3}} | fewer)
    assert made.training_of("bbc", "gru").model_dump() == made.training.model_dump() | {
        "epochs": 4,
        "patience": 5,
    }
    assert made.training_of("bbc", "other").epochs == made.training.epochs
    assert made.explaining_of("bbc").shards == 3 and made.explain.shards == 2
    assert (made.rows_explained("bbc", "gru"), made.rows_explained("bbc", "other")) == (4, 9)


WRONG = {  # what is said: the tasks of a profile
    "read by the models of 'bbc', whose models are []": {"hybrid_bbc": HYBRID},
    "got 'tiny'": {"bbc": BBC, "hybrid_bbc": HYBRID | {"models": ["tiny"]}},
    "whose seeds are [1, 2]; got 3": {"bbc": BBC, "hybrid_bbc": HYBRID | {"seeds": [3]}},
    "it takes no test_rows": {"bbc": BBC, "hybrid_bbc": HYBRID | {"test_rows": 2}},
    "needs train_rows, dev_rows and test_rows": {"bbc": HYBRID},
    "of_model names 'tiny'": {"bbc": BBC | {"of_model": {"tiny": {"explain_rows": 2}}}},
    "unknown explain key 'method'": {"bbc": BBC | {"explain": {"method": []}}},
    "judges": {"bbc": BBC | {"judges": ["taste"]}},
    "cannot also train on 'bbc'": {
        "snli": ROWS | {"also_train": {"bbc": {"rows": 1, "last_words": 1}}}
    },
}


def test_a_task_that_nobody_can_read_or_train_on_is_an_error():
    for said, tasks in WRONG.items():
        with pytest.raises(ValueError, match=re.escape(said)):
            profile(**tasks)


def test_every_sampled_method_is_compared_in_both_precisions(tiny, texts):
    budget = Budget(lime_samples=40, shap_evaluations=20, units=UnitSettings(shapley_samples=40))
    sampled = [name for name, method in METHODS.items() if method.sampled]
    asked = (texts[:2], list(METHODS), budget, ("x",), "predicted")
    table = precision_table(Scorer(tiny, sampled_precision="bfloat16"), *asked).set_index("method")
    assert (
        list(table.index) == sampled
        and (table.instances == 2).all()
        and set(table.precision) == {"bfloat16"}
    )
    # below 79 coalitions all its scores are 0, which rank nothing
    silent = table.index.str.startswith("proxyspex")
    assert (
        table.correlation[silent].isna().all() and table.correlation[~silent].between(0.8, 1).all()
    )
    assert (table.correlation < 1).any()
    exact = precision_table(Scorer(tiny), *asked).set_index("method")
    assert (exact.correlation[~silent] == 1).all() and list(exact.index) == sampled


def test_only_methods_that_are_asked_for_are_compared_in_both_precisions(
    tiny, texts, tmp_path, monkeypatch
):
    given = check_parameters("03_explain", {"model": "tiny", "methods": ["lime"]})
    step = Step("03_explain", given, load_profile("smoke"), Results(tmp_path))
    monkeypatch.setattr(explaining, "load_model", lambda *run: tiny)
    monkeypatch.setattr(explaining, "to_explain", lambda *which: texts[:2])
    found = explaining.explain_shard(step)
    assert (
        found.precision.method.tolist() == ["lime"]
        and "partition_shap" in step.profile.explain.methods
    )
    assert set(found.cost.method) == {"prediction", "lime"} and len(found.instances) == 2


def test_what_papers_print_is_explained_for_the_class_that_they_explain(
    tiny, texts, tmp_path, monkeypatch
):
    given = check_parameters("03_explain", {"task": "rotten_tomatoes", "model": "tiny"})
    profile = load_profile("smoke")
    profile.explain.methods[:] = ["gradient_l2"]
    step = Step("03_explain", given, profile, Results(tmp_path))
    monkeypatch.setattr(explaining, "load_model", lambda *run: tiny)
    monkeypatch.setattr(explaining, "to_explain", lambda *which: texts[:2])
    explaining.explain_shard(step)
    run = ("rotten_tomatoes", "tiny", 1)
    found = load_printed(step, run, "zhao2023/SST")
    assert found.records["gradient_l2"].target == found.instance.label == 0
    assert found.instance.segments[0].startswith("by the end i was looking")
    assert len(found.tokens) > 10 and found.predicted in range(3)


def test_lengths_are_drawn_a_row_a_task_the_shortest_first():
    lengths = pd.DataFrame(
        {"task": ["imdb"] * 20 + ["snli"] * 20, "words": [*range(100, 120), *range(1, 21)]}
    )
    axes = draw_lengths(lengths)
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "SNLI",
        "IMDB",
    ] and axes.get_legend() is None
    assert list(axes.lines[0].get_xdata()) == [10.5, 109.5]
    plt.close("all")


# Weights of people's own are copied with their classes named right, or the run stops

SNLI = ("entailment", "neutral", "contradiction")
TURNED = ("contradiction", "entailment", "neutral")
NUMBERED = ("LABEL_0", "LABEL_1", "LABEL_2")


def copy(tmp_path, own, given):
    """The copy of a classifier whose configuration names its classes `own`, where a profile says
    `given`.
    """
    names = {"id2label": dict(enumerate(own)), "label2id": {name: k for k, name in enumerate(own)}}
    source = architectures.save_tiny("roberta", tmp_path / "mine", **names)
    models = {"mine": ModelSpec(weights=str(source), labels=given, max_length=64)}
    asked = SimpleNamespace(task="snli", model="mine", seed=1)
    profile = SimpleNamespace(models=models, device="cpu")
    step = SimpleNamespace(parameters=asked, profile=profile)
    model, curve = training._copy_trained(step, SNLI, tmp_path / "results" / "mine")
    assert (tmp_path / "results" / "mine" / "model.safetensors").exists() and not len(curve)
    return model


def test_classes_keep_their_names_and_numbered_ones_take_those_of_the_profile(tmp_path):
    """README's list, in another order than the model's own, turns nothing around."""
    for at, (own, given) in enumerate(((TURNED, SNLI), (TURNED, None), (NUMBERED, TURNED))):
        model = copy(tmp_path / str(at), own, given and list(given))
        assert model.labels == SNLI and model.order == [1, 2, 0]


def test_other_names_stop_the_run(tmp_path):
    for at, (own, given) in enumerate(((("a", "b", "c"), SNLI), (NUMBERED, None))):
        with pytest.raises(ValueError, match=", ".join(own)):
            copy(tmp_path / str(at), own, given and list(given))


# What notebook 03_overview puts together from the tables of shards, with and without those of
# single texts

MODELS = {"long": 3, "short": 2}  # texts that each is explained on, in shards of one and the rest


@pytest.fixture
def step(tmp_path):
    """A step whose run explained texts of 4, 6, ... tokens with two models, in two shards each."""
    rows = ROWS | {"models": list(MODELS), "explain_rows": 3}
    profile = Profile(
        name="made-up",
        tasks={"snli": rows | {"of_model": {"short": {"explain_rows": 2}}}},
        models=dict.fromkeys(MODELS, TINY),
        explain={"methods": ["lime"], "shards": 2},
    )
    results = Results(tmp_path)
    for model, texts in MODELS.items():
        for shard, some in enumerate((range(1), range(1, texts))):
            at = np.array(some)
            tokens = 4 + 2 * at
            cost = pd.DataFrame(
                {"method": ["prediction", "lime"], "requested": [1.0, 10.0], "unique": [1.0, 8.0]}
            )
            cost["reused"] = cost.requested - cost.unique
            cost["requested_tokens"] = cost.requested * tokens.mean()
            single = {"instance": [f"t{n}" for n in some], "tokens": tokens, "dropped": at % 2}
            single |= {"predicted": 1, "label": at % 2, "gap": 0.5, "gap_share": 0.25}
            precise = {"method": ["lime"], "precision": ["float32"], "correlation": [1.0]}
            tables = {
                "cost": cost.assign(instances=len(some), gradients=0.0, unique_tokens=1.0),
                "instances": pd.DataFrame(single),
                "precision": pd.DataFrame(precise).assign(instances=1),
            }
            for name, table in tables.items():
                write_csv(results.table(name, "03_explain", "snli", model, 1, shard), table)
    return SimpleNamespace(profile=profile, results=results)


def test_tables_of_single_texts_say_how_right_predictions_are_and_without_them_costs_say_the_rest(
    step,
):
    row = task_table(step, cost_table(step)).iloc[0]
    assert (row.task, row.instances, row.tokens_mean, row.truncated) == ("snli", 3, 6.0, 1)
    assert (row.accuracy, row.gap_max, row.gap_share_max) == (2 / 5, 0.5, 0.25)
    assert (row.reused_share, row.sampled_precision, row.sampled_correlation) == (
        pytest.approx(2 / 11),
        "float32",
        1.0,
    )
    for path in step.results.tables.glob("*_instances.csv"):
        path.unlink()
    without = task_table(step, cost_table(step)).iloc[0]
    unknown = ["truncated", "accuracy", "gap_max", "gap_share_max"]
    assert without[unknown].isna().all()
    assert without.drop(unknown).to_dict() == pytest.approx(row.drop(unknown).to_dict())
    step.results.table("cost", "03_explain", "snli", "short", 1, 1).unlink()
    with pytest.raises(FileNotFoundError, match="run notebook 03_explain"):
        cost_table(step)
