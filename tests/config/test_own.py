"""What a profile says of the user's own things: names, folders of models, files of texts."""

import json
import pickle
import re
import textwrap
from itertools import product

import pytest
import yaml
from reference import CHECKOUT
from reference.profiles import TASK, TINY

from attreval.methods import METHODS
from attreval.methods.method import UnitSettings
from compendium import config, corpora
from compendium.corpora import TASKS
from compendium.corpora.tasks import known_task
from compendium.workflow.parallel import map_side_by_side

AS_IT_IS = {"models": ["mine"], "train_rows": 0, "dev_rows": 0, "test_rows": 9, "explain_rows": 3}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's folder with a model and texts; its own data and results; tasks stay as they were."""
    before = dict(TASKS)
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    make_model(tmp_path / "models" / "mine", ["neg", "pos"])
    (tmp_path / "my.csv").write_text("review,stars,why\nso good,1,0 1\nso bad,0,\nvery bad,0,\n")
    yield tmp_path
    TASKS.clear()
    TASKS.update(before)


def make_model(place, classes=None):
    """A folder as transformers writes it, without weights."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.json").write_text(
        json.dumps({"id2label": dict(enumerate(classes))} if classes else {})
    )


def profile(**more):
    made = {
        "models": {"mine": {"weights": "models/mine"}},
        "corpora": {
            "mine": {"file": "my.csv", "text": "review", "label": "stars", "rationale": "why"}
        },
        "tasks": {
            "mine": AS_IT_IS,
            "hybrid_mine": {"models": ["mine"], "explain_rows": 2, "judges": ["pointing"]},
        },
    }
    return made | more


def load(folder, made=None, name="trial.yaml"):
    (folder / name).write_text(yaml.safe_dump(made or profile()))
    return config.load_profile(str(folder / name))


def refuse(folder, words, made=None, name="trial.yaml"):
    with pytest.raises(ValueError, match=words) as raised:
        load(folder, made, name)
    assert len(str(raised.value)) < 1500
    return str(raised.value)


def test_a_profile_makes_a_file_a_task_with_the_classes_of_its_model(folder):
    found = load(folder)
    assert found.name == "trial" and found.corpora["mine"].file == str(folder / "my.csv")
    assert TASKS["mine"].labels == ("neg", "pos") and found.read_by("hybrid_mine") == "mine"
    corpora.fetch_tasks(found.read_tasks(), say=lambda line: None)
    assert [i.label for i in corpora.load_task("mine", "test")].count(0) == 2
    assert sum(i.evidence.marks.size > 0 for i in corpora.load_task("mine", "test")) == 1
    assert ("mine", "mine", 1) in found.explained_runs("agreement")


def test_making_a_profile_changes_nothing_outside_it(folder):
    """A profile that reaches another process changes nothing; who starts a run makes it known."""
    found = load(folder)
    settings = found.model_dump()
    kept = pickle.dumps(found)
    for name in ("mine", "hybrid_mine"):
        del TASKS[name]
    before = dict(TASKS), dict(METHODS)
    assert pickle.loads(kept) == found
    with pytest.raises(ValueError, match=r"unknown task '(hybrid_)?mine'"):
        config.Profile.model_validate(settings)
    assert before == (TASKS, METHODS)
    config.make_known(settings)
    assert (
        config.Profile.model_validate(settings).read_by("hybrid_mine") == "mine" and "mine" in TASKS
    )


def test_processes_of_a_step_know_the_tasks_of_its_profile(folder):
    settings = load(folder).model_dump()
    assert map_side_by_side(known_task, [("mine",), ("hybrid_mine",)], 2, settings=settings)[
        0
    ].labels == ("neg", "pos")


def test_a_path_is_that_of_the_profiles_folder_wherever_one_stands(folder, monkeypatch):
    load(folder)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    found = config.load_profile("../trial.yaml")
    assert found.models["mine"].weights == str(folder / "models" / "mine")
    assert found.corpora["mine"].file == str(folder / "my.csv")
    assert corpora.resolve_weights(found.models["mine"].weights) == str(folder / "models" / "mine")


def test_a_corpus_that_cannot_be_meant_is_told_when_the_profile_is_loaded(folder):
    for entry, words in [
        (
            {"file": "mz.csv"},
            r"trial.yaml is not a valid profile:\n.*there is no file .*mz.csv; did you mean "
            r"'my.csv'",
        ),
        ({"text": "reviews"}, "no column 'reviews'; did you mean 'review'"),
        ({"labels": ["only"]}, "corpora.mine.labels: two classes or more"),
        ({"labels": ["a", "a"]}, "two classes or more of different names"),
        (
            {"labels": ["a", "b"]},
            "the model 'mine' has the classes neg, pos, the task 'mine' has a, b",
        ),
        ({"labels": ["a", "b", "c"]}, "has the classes neg, pos, the task 'mine' has a, b, c"),
        (
            {"texts": "review"},
            "corpora.mine.texts: unknown key; allowed are: file, text, label, pair",
        ),
        ({"file": ""}, "corpora.mine.file: String should have at least 1 character"),
    ]:
        made = profile()
        made["corpora"]["mine"] |= entry
        refuse(folder, words, made)


def test_a_name_of_a_corpus_or_model_that_no_file_can_bear_is_refused_with_one_that_can(folder):
    for name, plain in [
        ("My-Data", "my_data"),
        ("a b", "a_b"),
        ("../x", "x"),
        ("Ünï", "n"),
        ("", "mine"),
    ]:
        made = profile(corpora={name: profile()["corpora"]["mine"]})
        refuse(folder, rf"corpora: {re.escape(repr(name))} is no name: .*{plain!r} would do", made)
        made = profile(
            models={name: {"weights": "models/mine"}, "mine": {"weights": "models/mine"}}
        )
        refuse(folder, rf"models: {re.escape(repr(name))} is no name: .*{plain!r} would do", made)


def test_a_shipped_corpus_is_not_replaced_and_one_without_train_is_not_trained_on(folder):
    named = profile(corpora={"snli": profile()["corpora"]["mine"]})
    refuse(folder, "'snli' is the name of a corpus that comes with", named)
    made = profile(models={"mine": TINY}, tasks={"mine": AS_IT_IS | {"train_rows": 2}})
    refuse(folder, "task 'mine' has no rows to train on: say which column", made)


# Models


def test_a_folder_of_a_model_that_is_not_there_names_the_nearest(folder):
    for given in (
        "models/mnie",
        "./models/mnie",
        str(folder / "models" / "mnie"),
        "models/deep/er",
    ):
        made = profile(models={"mine": {"weights": given}})
        words = refuse(folder, r"models\.mine\.weights: there is no folder", made)
        assert f"{folder / 'models'} holds mine" in words
    (folder / "models" / "void").mkdir()
    made = profile(models={"mine": {"weights": "models/void"}})
    refuse(folder, "void holds no model: no config.json; it holds nothing", made)
    (folder / "models" / "file").write_text("")
    refuse(folder, "there is no folder", profile(models={"mine": {"weights": "models/file"}}))


def test_names_of_the_registry_and_of_a_hub_stay_names(folder):
    for name in ("minilm", "facebook/bart-base"):
        found = load(
            folder, {"models": {"mine": {"weights": name}}, "tasks": {"rotten_tomatoes": AS_IT_IS}}
        )
        assert found.models["mine"].weights == name


def test_classes_of_a_model_in_another_order_or_number_are_never_taken_silently(folder):
    one = {"weights": "models/mine", "labels": ["pos", "neg"]}
    words = (
        r"has the classes pos, neg, its configuration the same in another order: neg, pos; leave "
        r"`labels` out"
    )
    refuse(folder, words, profile(models={"mine": one}))
    three = profile(models={"mine": one | {"labels": list("abc")}})
    refuse(folder, "names 3 classes, its weights have 2: neg, pos", three)
    # other words, the model's order
    found = load(folder, profile(models={"mine": one | {"labels": ["Bad", "Good"]}}))
    assert found.corpora["mine"].labels == [] and TASKS["mine"].labels == ("Bad", "Good")
    made = {"models": {"mine": {"weights": "models/mine"}}, "tasks": {"snli": AS_IT_IS}}
    refuse(
        folder, "the model 'mine' has the classes neg, pos, the task 'snli' has entailment", made
    )
    make_model(folder / "models" / "mine")  # without names: known only when it is loaded
    assert load(folder, made).models["mine"].labels is None


# The name of a profile


def test_a_name_that_is_no_folder_of_its_own_is_refused(folder):
    for name in ["../../oops", "/tmp/oops", "", ".", "a/b", "a b", ".hidden", "x\n", "a\\b", 7]:
        words = refuse(folder, r"trial.yaml is not a valid profile:\n  name: ", profile(name=name))
        assert "models" not in words  # the profile itself is not printed


def test_a_name_of_letters_digits_dots_and_dashes_is_taken(folder):
    for name in ("My-Model", "a_b-C", "2024-01.v2"):
        assert load(folder, profile(name=name)).name == name
        assert load(folder, name=f"{name}.yaml").name == name  # from the file


def test_a_name_of_a_profile_of_the_project_is_its_own(folder, name="smoke"):
    words = (
        rf"name: {name!r} is the profile .*config/{name}.yaml, whose results this one would "
        r"write over"
    )
    refuse(folder, words, profile(name=name))
    refuse(folder, words, name=f"{name}.yaml")  # where the file gives the name
    assert config.load_profile(str(CHECKOUT / "config" / f"{name}.yaml")).name == name


def test_errors_do_not_print_the_profile(folder):
    methods = {"explain": {"methods": ["lime", "nope"]}}
    for what, made in (
        ("method", profile(tasks={"nope": TASK}, **methods)),
        ("task", profile(tasks={"nope": TASK})),
    ):
        words = refuse(folder, f"unknown {what} 'nope'", made)
        assert "got {" not in words and "my.csv" not in words


# Budgets, defaults, docs/own_model.md


def numbers_of(section):
    """The names of its fields that are numbers."""
    return [
        name for name, field in section.model_fields.items() if field.annotation in (int, float)
    ]


def test_no_budget_is_negative_or_nothing(folder):
    refuse(folder, r"explain\.path_steps: ", profile(explain={"path_steps": -5}))
    refuse(
        folder, "path_steps", profile(tasks={"mine": AS_IT_IS | {"explain": {"path_steps": -5}}})
    )
    for key, value in product(numbers_of(config.ExplainSpec), (-5, -1, 0, float("nan"))):
        if (key, value) != ("limsse_draw", 0):
            with pytest.raises(ValueError, match=key):
                config.ExplainSpec(**{key: value})
    for key in set(numbers_of(UnitSettings)) - {"head_rank"}:  # -1 is the least important head
        with pytest.raises(ValueError, match=key):
            UnitSettings(**{key: -5})


def test_what_explains_has_a_default_that_every_judge_can_use(folder):
    found = load(folder).explain.methods
    assert "random" in found and set(config.FaithfulnessSpec().methods) <= set(found)


BLOCKS = re.findall(
    r"\n\n((?:    .*\n)+)", (CHECKOUT / "docs" / "own_model.md").read_text(encoding="utf-8")
)
PROFILES = [textwrap.dedent(block) for block in BLOCKS if re.match(r" *models:", block)]


def test_every_profile_that_the_guide_prints_is_valid_as_printed(folder):
    assert len(PROFILES) >= 2
    for text in PROFILES:
        named = yaml.safe_load(text)["models"]["mine"]
        make_model(folder / named["weights"], named.get("labels") or ["negative", "positive"])
        (folder / "reviews.csv").write_text(
            "review,stars,why\nso good,positive,good\nso bad,negative,\n"
        )
        (folder / "mine.yaml").write_text(text)
        found = config.load_profile("mine.yaml")
        assert found.name == "mine" and found.explained_runs()
