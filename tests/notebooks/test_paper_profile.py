"""What the paper profile has and smoke lacks: tasks, models and settings, on a text a task.

The notebooks that these need run cell by cell in this process; pictures are drawn and not written.
Texts, marks and word vectors are made up, so that neither corpora nor weights are needed.
"""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib import pyplot as plt
from reference import CHECKOUT, models
from reference.steps import run_cells

from attreval.core.records import Evidence
from attreval.core.tables import read_attributions, write_instances
from attreval.models.loading import load_classifier
from compendium import config, corpora, project
from compendium.corpora import TASKS
from compendium.workflow.step import Step

pytestmark = pytest.mark.filterwarnings("ignore")
PAPER = CHECKOUT / "config" / "paper.yaml"
NAME = "paper_small"  # no profile of the project has it
NAMES = [
    "the",
    "a",
    "film",
    "plot",
    "was",
    "is",
    "not",
    "very",
    "good",
    "bad",
    "slow",
    "brave",
    "un",
    "able",
]
ROWS = {"train": 6, "dev": 3, "test": 3}
FEW = {f"{split}_rows": rows for split, rows in ROWS.items()}
KEPT = {  # one task a judge and kind of text, and of its models one a family
    "snli": ["distilbert"],
    "fever": ["bart_long"],
    "rotten_tomatoes": ["distilbert"],
    "sst2": ["bert"],
    "esnli": ["distilbert"],
    "rated_movies": ["distilbert"],
    "newsgroups": ["gru", "cnn"],
    "yelp": ["gru"],
    "agreement_whole": ["uni_lstm"],
    "hybrid_newsgroups": ["gru"],
    "manual_newsgroups": ["cnn"],
}
SHORT = {  # what a method may ask for, and nothing else
    "path_steps": 2,
    "path_steps_most": 2,
    "riemann_steps": 2,
    "lime_samples": 6,
    "shap_evaluations": 6,
    "limsse_samples": 6,
    "limsse_epochs": 3,
    "shards": 1,
}


def instances(task: str) -> list:
    """Made-up rows of a task with the evidence that its judges look for.

    e-SNLI's are the pairs of SNLI.
    """
    known = TASKS[task]
    out = []
    rng = np.random.default_rng(len({"esnli": "snli"}.get(task, task)))
    for split in known.splits:
        for at in range(ROWS[split]):
            texts = [" ".join(rng.choice(NAMES, rng.integers(6, 12))) for _ in known.segments]
            one = models.instance(*texts, name=f"{task}/{split}/{at}", label=at % len(known.labels))
            out.append(replace(one, split=split, evidence=evidence(task, len(one.words), rng)))
    return out


def evidence(task: str, words: int, rng) -> Evidence:
    """What a task's builder says of a text of so many words."""
    if task.startswith("hybrid"):
        return Evidence(
            classes=tuple(int(k) for k in rng.integers(0, len(TASKS[task].labels), words))
        )
    if task.startswith("agreement"):
        return Evidence(
            spans=((1, 2, 0),), tags=("DT", "NN", *["NNS"] * (words - 2)), attractors=words - 2
        )
    if task in ("esnli", "manual_newsgroups"):
        return Evidence(
            marks=(rng.random((3 if task == "esnli" else 2, words)) < 0.5).astype(float)
        )
    return Evidence()


def small(profile: dict, tokenizer: str) -> dict:
    """The profile with fewer tasks, tiny models and a few rows; the rest stays."""
    profile["tasks"] = {name: task for name, task in profile["tasks"].items() if name in KEPT}
    for spec in profile["models"].values():
        if "weights" in spec:
            decoder = "bart" in spec.pop("weights")
            spec |= {
                "architecture": "encoder_decoder" if decoder else "transformer",
                "tokenizer": tokenizer,
            }
            spec |= {
                "layers": 1,
                "hidden": 8,
                "heads": 2,
                "max_length": min(spec["max_length"], 64),
            }
        else:
            spec |= {"hidden": 4, "embedding_size": 5}
            spec |= {"embeddings": "vectors.txt"} if spec.get("embeddings") else {}
    for name, task in profile["tasks"].items():
        task |= {} if TASKS[name].trained_on else FEW
        task |= {"explain_rows": min(task["explain_rows"], 1), "seeds": task.get("seeds", [1])[:1]}
        task |= {"models": KEPT[name]}
        task.pop("of_model", None)
        task.pop("examples", None)
        task.pop("printed", None)
        task["training"] = task.get("training", {}) | {"epochs": 1}
        task["explain"] = task.get("explain", {}) | SHORT
    profile["tasks"]["rotten_tomatoes"]["explain_rows"] = 0  # its model reads rated movies
    profile["tasks"]["snli"]["judges"] = ["agreement"]
    for name in ("snli", "esnli"):
        profile["tasks"][name]["seeds"] = [1, 2]  # of which the one of lowest APD is taken
    few = {"scale_rows": 1, "control_rows": 1, "noise_variances": [0.1]}
    profile["faithfulness"] |= few
    profile["agreement"]["largest_k"] = 5
    profile["bootstrap"] = {"draws": 5, "nulls": 19}
    profile["diagnosis"] |= {
        "rows": 2,
        "parts": 1,
        "oracle": {"rows": 1, "units": 12, "samples": [8]},
    }
    profile["diagnosis"]["units"] |= {
        "shapley_samples": 8,
        "attention_steps": 2,
        "attention_steps_most": 2,
    }
    profile["diagnosis"]["agents"] |= {
        "rows": 3,
        "seeds": [1],
        "split": [0.34, 0.33, 0.33],
        "techniques": ["attention"],
        "types": ["token"],
        "forms": ["text"],
    }
    profile["diagnosis"]["agents"]["training"] |= {"epochs": 1}
    profile["joint"] = {"rows": 1}
    profile["meta"] = {"instances": 4}
    return profile | {"name": NAME, "threads": 1, "workers": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(path of the small profile, the profile), with tables, word vectors and a tokenizer."""
    home = tmp_path_factory.mktemp("paper")
    patch = pytest.MonkeyPatch()
    corpora_folder = home / "corpora"
    (corpora_folder / "esnli").mkdir(parents=True)
    for name in ("dev", "test"):  # at hand, so that SNLI takes its evidence from there
        (corpora_folder / "esnli" / f"esnli_{name}.csv").touch()
    lines = [
        f"{word} " + " ".join(f"{x:.2f}" for x in np.linspace(-1, at, 5))
        for at, word in enumerate(NAMES[::2])
    ]
    (corpora_folder / "vectors.txt").write_text("\n".join(lines))
    models.tiny_tokenizer().save_pretrained(home / "tokenizer")
    patch.setenv("ATTREVAL_CORPORA", str(corpora_folder))
    patch.setenv("ATTREVAL_DATA", str(home / "data"))
    patch.setenv("ATTREVAL_RESULTS", str(home / "results"))
    patch.setattr(Step, "figure", lambda step, name, axes, alt="": plt.close("all"))
    path = home / "paper.yaml"
    path.write_text(
        yaml.safe_dump(small(yaml.safe_load(PAPER.read_text()), str(home / "tokenizer")))
    )
    profile = config.load_profile(str(path))
    for task in profile.read_tasks():
        write_instances(corpora.table_path(task), instances(task), {"dropped": {}, "noted": {}})
    yield str(path), profile
    patch.undo()


def table(notebook: str, name: str, *run) -> pd.DataFrame:
    """A table that a notebook wrote."""
    return project.results(NAME).read_table(name, notebook, *run)


@pytest.fixture(scope="module")
def finished(made):
    """The profile, after every notebook that its tasks and judges need has run."""
    path, profile = made
    for task, model, seed in profile.trained_runs():
        run_cells("02_train", profile=path, task=task, model=model, seed=seed)
    for task, model, seed in profile.explained_runs():
        run_cells("03_explain", profile=path, task=task, model=model, seed=seed)
    for notebook in (
        "04_poerner2018",
        "05_kamp2023_seeds",
        "05_kamp2023",
        "06_zhao2023",
    ):
        run_cells(notebook, profile=path)
    for task, model, seed in profile.explained_runs("diagnosis"):
        for notebook in ("07_sun2024_explanations", "07_sun2024_agents"):
            run_cells(notebook, profile=path, task=task, model=model, seed=seed)
    run_cells("07_sun2024", profile=path)
    return profile


def judged_by(profile, judge: str) -> set[tuple[str, str]]:
    """(task, model) of the runs of a judge."""
    return {run[:2] for run in profile.explained_runs(judge)}


def test_every_judge_of_the_paper_profile_has_its_tasks(finished):
    found = table("04_poerner2018", "pointing")
    played = set(zip(found.task, found.model, strict=True))
    # a document is discarded where no word speaks for its class
    assert played <= judged_by(finished, "pointing")
    assert ("agreement_whole", "uni_lstm") in played and found.accuracy.between(0, 1).sum() > 20
    found = table("06_zhao2023", "aopc")
    assert set(found.task) == {task for task, _ in judged_by(finished, "faithfulness")}
    found = table("07_sun2024", "summary")
    assert set(zip(found.task, found.model, strict=True)) == judged_by(finished, "diagnosis")


def test_agreement_is_of_the_runs_of_lowest_difference(finished):
    seeds = table("05_kamp2023_seeds", "apd")
    of_several_seeds = [
        run for run in judged_by(finished, "agreement") if run[0] in ("snli", "esnli")
    ]
    assert len(seeds) == 2 * len(of_several_seeds)
    for name in ("agreement_at_k", "dynamic", "groups", "sentences"):
        found = table("05_kamp2023", name).drop_duplicates(["task", "model", "seed"])
        assert set(zip(found.task, found.model, strict=True)) == judged_by(finished, "agreement")
        assert not found.duplicated(["task", "model"]).any()
        kept = found.merge(seeds, on=["task", "model", "seed"])
        assert len(kept) == len(of_several_seeds) and kept.chosen.all()


def test_each_task_explains_the_class_that_its_judges_ask_about(finished):
    for task, model, seed in finished.explained_runs():
        records = read_attributions(project.results(NAME).attributions(task, model, seed, 0))
        (test,) = corpora.load_task(task, "test", 1)
        predicted = table("03_explain", "instances", task, model, seed, 0).predicted[0]
        assert {record.target for record in records} == {
            test.label if task in ("esnli", "rated_movies") else predicted
        }


def test_models_are_trained_as_published(finished):
    results = project.results(NAME)

    def training(task, model, seed=1):
        return json.loads((results.model(task, model, seed) / "training.json").read_text())[
            "training"
        ]

    assert (
        training("newsgroups", "cnn")["clip"] is None
        and training("snli", "distilbert")["clip"] == 1
    )
    assert (training("newsgroups", "gru")["patience"], training("yelp", "gru")["patience"]) == (
        25,
        5,
    )
    assert training("agreement_whole", "uni_lstm")["batch_rows"] == 16
    assert (
        training("sst2", "bert", 5)["head_learning_rate"]
        == 10 * training("sst2", "bert", 5)["learning_rate"]
    )
    paper = config.load_profile(str(PAPER))
    assert {paper.training_of("snli", model).watch for model in ("bert", "bart")} == {"macro_f1"}
    made = load_classifier(results.model("newsgroups", "gru", 1), device="cpu")
    start = np.linspace(-1, 0, 5)  # what the file of vectors gives the first word
    moved = made.network.embedding.weight[made.index[NAMES[0]]].numpy() - start
    assert np.abs(moved).max() < 0.05
    assert {
        made.sizes.gate,
        load_classifier(results.model("agreement_whole", "uni_lstm", 1)).sizes.gate,
    } == {"hard_sigmoid"}
