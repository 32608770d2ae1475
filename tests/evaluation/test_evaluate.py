"""`attreval evaluate` on planted models of four shapes and files of four: the planted best method is named."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pandas as pd
import pytest
from reference import CHECKOUT
from reference.planted_texts import LABELS, train_planted, write_given, write_texts
from reference.steps import run_cells

from attreval.methods import METHODS
from compendium import config, corpora, project
from compendium.evaluation import running
from compendium.evaluation.asked import Asked, pick_methods, profile_of
from compendium.workflow import run_snakemake

QUICK = ["gradient_x_input", "occlusion_1"]


def run_here(profile, cores=None, targets=(), extra=()):
    """The steps that the workflow would run for the joint study, in this process."""
    made = config.load(profile)
    corpora.fetch(list(made.tasks), say=lambda text: None)
    for task, model, seed in made.trained_runs():
        run_cells("02_train", profile=profile, task=task, model=model, seed=seed)
    for task, model, seed in made.explained_runs():
        for shard in range(made.explaining_of(task).shards):
            run_cells("03_explain", profile=profile, task=task, model=model, seed=seed, shard=shard)
    if made.explained_runs("pointing"):
        run_cells("04_poerner2018", profile=profile)
    run_cells("08_joint", profile=profile)
    project.results(made.name).notebooks.mkdir(exist_ok=True)  # nothing executes them here
    return True


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(run_snakemake, "run_workflow", run_here)
    monkeypatch.setattr(running, "FIRST", 40)
    yield tmp_path
    for name in [name for name, method in METHODS.items() if method.given]:
        del METHODS[name]


CASES = {  # architecture -> file, columns, whether scores made elsewhere are given
    "roberta": ("reviews.csv", {"rationale": "why"}, True),
    "bart": ("reviews.tsv", {"pair": "review", "text": "before"}, True),
    "gpt2": ("reviews.jsonl", {"rationale": "spans"}, True),
    "modernbert": ("reviews.parquet", {}, False),
}


@pytest.mark.parametrize("kind", CASES)
def test_the_planted_best_is_named_for_models_and_files_of_any_shape(kind, here):
    name, more, given = CASES[kind]
    pairs, said = "pair" in more, []
    model, texts = train_planted(kind, here / kind, pairs), write_texts(here / name, 200)
    files = [write_given(here / "theirs.jsonl", texts, pairs)] if given else []
    columns = {"text": "review", "label": "stars"} | more
    out = here / "report"
    page = running.evaluate_own(
        str(model), here / name, columns, out, QUICK[: 1 if given else 2], files, most=40, say=said.append
    )
    choice = pd.read_csv(out / "tables" / "08_joint_choice.csv")
    text = html.unescape(re.sub("<[^>]+>", " ", page.read_text(encoding="utf-8")))
    model_row = pd.read_csv(out / "tables" / "02_train-texts-model-s1_accuracy.csv").iloc[0]
    assert model_row.accuracy > 0.95, "the planted model has not learned"
    first = choice.method[0]
    assert first == ("planted words" if given else "occlusion_1") and choice.recommended[0]
    assert set(choice[choice.leading].method).isdisjoint({"nonsense", "random"})
    assert ("people" in choice) == ("rationale" in more) and ("pointing" in choice) == (not given and not pairs)
    wanted = "planted words" if given else METHODS["occlusion_1"].title
    assert re.search(rf"(Use {re.escape(wanted)}\.|{re.escape(wanted)}, so far)", text)
    assert any("about" in line and "min" in line for line in said)  # how long it takes is said before it starts
    for beside in ("explorer.html", "profile.yaml", "tables/08_joint_values.csv", "notebooks"):
        assert (out / beside).exists(), beside
    assert 'src="http' not in page.read_text(encoding="utf-8") and LABELS[0] in text


def test_numbered_classes_take_the_given_names_and_a_few_texts_suffice(here):
    model = train_planted("roberta", here / "roberta", labels=("LABEL_0", "LABEL_1"))
    write_texts(here / "few.csv", 7)
    columns, out = {"text": "review", "label": "stars"}, here / "report"
    page = running.evaluate_own(
        *(str(model), here / "few.csv", columns, out, QUICK), labels=LABELS, most=5, say=lambda text: None
    )
    assert LABELS[0] in page.read_text(encoding="utf-8") and "LABEL_0" not in page.read_text(encoding="utf-8")
    values = pd.read_csv(out / "tables" / "08_joint_values.csv")
    assert set(values[values.task == "hybrid_texts"].metric).isdisjoint({"nc", "ns", "soft_nc_equal"})
    with pytest.raises(ValueError, match="has 2 classes, `labels` has 3"):
        running.examine(str(model), here / "few.csv", columns, QUICK, [], ["a", "b", "c"], out, lambda text: None)


def test_a_folder_with_files_of_somebody_is_left_alone(here, monkeypatch):
    monkeypatch.setattr(running, "examine", lambda *_: pytest.fail("the model was opened"))
    (here / "out" / "tables").mkdir(parents=True)
    (here / "out" / "tables" / "thesis.csv").write_text("mine")
    with pytest.raises(ValueError, match="holds tables, and is no folder of a report"):
        running.evaluate_own("m", here / "x.csv", {}, here / "out")
    running.claim_folder(here / "report")
    running.check_folder(here / "report")
    running.check_folder(here / "new")


def asked(**more):
    given = {"model": "m", "data": project.Path("x.csv"), "columns": {}, "labels": ("a", "b"), "methods": ("lime",)}
    return Asked(**given | {"max_length": 64, "size": 500, "hybrid": 50} | more)


def test_samples_grow_until_they_are_all():
    assert running.sample_sizes(20) == [20] and running.sample_sizes(60) == [50, 60]
    assert running.sample_sizes(500) == [50, 100, 200, 500]
    assert all(a < b for a, b in zip(running.sample_sizes(1000), running.sample_sizes(1000)[1:], strict=False))


def test_a_settled_choice_ends_the_growth_and_an_open_one_goes_on(here, monkeypatch):
    rounds = []
    settled = {40: False, 80: True}

    def round_of(asked, texts, out, cores):
        rounds.append(texts)
        table = pd.DataFrame({"method": ["lime"], "recommended": [True], "settled": [settled[texts]]})
        path = project.results("run").table("choice", "08_joint")
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)

    monkeypatch.setattr(running, "examine", lambda *_: asked())
    monkeypatch.setattr(running, "run_round", round_of)
    monkeypatch.setattr("compendium.evaluation.page.write_report", lambda asked, out, texts: out / f"{texts}.html")
    page = running.evaluate_own("m", here / "x.csv", {}, here / "out", say=lambda text: None)
    assert rounds == [40, 80] and page.name == "80.html"


def test_no_sample_is_begun_that_would_not_end_in_time(here, monkeypatch):
    rounds, said, clock = [], [], [0.0]

    def round_of(asked, texts, out, cores):
        rounds.append(texts)
        clock[0] += 3 * texts
        path = project.results("run").table("choice", "08_joint")
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"method": ["lime"], "recommended": [True], "settled": [False]}).to_csv(path, index=False)

    monkeypatch.setattr(running, "examine", lambda *_: replace(asked(), size=300))
    monkeypatch.setattr(running, "run_round", round_of)
    monkeypatch.setattr(running.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr("compendium.evaluation.page.write_report", lambda asked, out, texts: out / f"{texts}.html")
    page = running.evaluate_own("m", here / "x.csv", {}, here / "out", minutes=10, say=said.append)
    assert rounds == [40, 80] and page.name == "80.html"  # six minutes so far, and eight more
    assert "14 min in all" in said[-2] and "--minutes is 10" in said[-2]


def test_profiles_hold_what_is_asked(here):
    made = profile_of(asked(), 100)
    assert made["tasks"]["texts"]["explain_rows"] == 100 and made["tasks"]["hybrid_texts"]["explain_rows"] == 20
    assert made["explain"]["methods"] == ["random", "lime"]
    assert made["tasks"]["texts"]["explain"] == {"shards": 2}
    assert profile_of(asked(hybrid=1), 5)["tasks"]["hybrid_texts"]["explain"] == {"shards": 1}
    assert made["joint"]["tasks"] == {"texts": 100, "hybrid_texts": 20}
    assert "hybrid_texts" not in profile_of(asked(hybrid=0), 100)["tasks"]
    assert "hybrid_texts" not in profile_of(asked(files=(project.Path("a.jsonl"),), given=("them",)), 100)["tasks"]
    assert profile_of(asked(size=40), 100)["tasks"]["texts"]["explain_rows"] == 40


def test_methods_are_those_that_apply(here):
    assert "attention" in pick_methods([], "transformer") and "attention" not in pick_methods([], "recurrent")
    assert "lrp" in pick_methods([], "transformer") and "lrp" in pick_methods([], "recurrent")
    assert pick_methods(["random", "lime", "lime"], "transformer") == ("lime",)
    pair = next(name for name, method in METHODS.items() if method.level == "pair")
    with pytest.raises(ValueError, match="scores of tokens"):
        pick_methods([pair], "transformer")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["lmie"]}, "did you mean 'lime'"),
        ({"most": 1}, "--texts is at least 2"),
        ({"columns": {"text": "reviw", "label": "stars"}}, "review"),
        ({"columns": {"text": "review", "label": "stars"}, "labels": ["x", "y"]}, "names its classes dull, fine"),
        ({"attributions": ["none.jsonl"]}, "no file"),
        ({"data": "none.csv"}, "none.csv"),
        ({"model": "robeta"}, "robeta"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_runs(here, change, message, monkeypatch):
    train_planted("roberta", here / "roberta", steps=1)
    write_texts(here / "reviews.csv", 10)
    monkeypatch.chdir(here)
    monkeypatch.setattr(running, "run_round", lambda *_: pytest.fail("ran"))
    given = {"model": "./roberta", "data": "reviews.csv", "columns": {"text": "review", "label": "stars"}, "out": "out"}
    given |= change
    with pytest.raises((ValueError, OSError), match=re.escape(message)):
        running.evaluate_own(**given, say=lambda text: None)


def test_texts_that_nobody_explained_elsewhere_are_left_out_and_counted(here):
    model, texts = train_planted("roberta", here / "roberta", steps=1), write_texts(here / "reviews.csv", 10)
    write_given(here / "theirs.jsonl", texts[:6])
    said = []
    columns = {"text": "review", "label": "stars", "rationale": "why"}
    found = running.examine(
        str(model), here / "reviews.csv", columns, QUICK, [here / "theirs.jsonl"], [], here / "out", said.append
    )
    kept = {" ".join(words) for words, _, _ in texts[:6]}
    assert found.size == len(kept) and found.given == ("planted words", "nonsense")
    rows, _, dropped = running.read_rows(found.data, found.columns, found.labels)
    assert not dropped and {row.segments[0] for row in rows} == kept and all(row.evidence for row in rows)
    assert any(re.search(r"\d of 10 texts are left out: planted words has no scores", line) for line in said)
