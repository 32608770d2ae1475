"""Profiles and parameters: what is unknown or mistyped is an error that says what would do."""

import math
import pickle
import re
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
import yaml
from reference import CHECKOUT

from attreval.methods import METHODS
from attreval.methods.method import Budget
from compendium import config, project
from compendium.corpora import TASKS
from compendium.workflow import parameters, step

GOOD = {
    "name": "mine",
    "models": {"small": {"layers": 1, "hidden": 8, "heads": 2, "tokenizer": "minilm"}},
    "tasks": {
        "snli": {
            "models": ["small"],
            "train_rows": 1,
            "dev_rows": 1,
            "test_rows": 1,
            "explain_rows": 1,
        }
    },
    "explain": {"methods": ["random", "lime"]},
}


def changed(path, value):
    """A profile with one value put at a dotted path."""
    made = deepcopy(GOOD)
    *folders, last = path.split(".")
    place = made
    for folder in folders:
        place = place.setdefault(folder, {})
    place[last] = value
    return made


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A project with profiles mine, quick and reference."""
    (tmp_path / "config").mkdir()
    for name in ("mine", "quick", "reference"):
        (tmp_path / "config" / f"{name}.yaml").write_text(yaml.safe_dump(GOOD | {"name": name}))
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path))
    monkeypatch.delenv("ATTREVAL_RESULTS", raising=False)
    return tmp_path


def load(home, profile):
    (home / "config" / "mine.yaml").write_text(yaml.safe_dump(profile))
    return config.load_profile("mine")


def test_a_good_profile_loads_and_all_problems_of_another_are_told_at_once(home):
    found = load(home, GOOD)
    assert (
        found.name == "mine" and found.tasks["snli"].seeds == [1] and found.explain.path_steps == 50
    )
    assert config.profiles() == ["mine", "quick", "reference"]
    assert config.load_profile(str(home / "config" / "quick.yaml")).name == "quick"
    with pytest.raises(
        ValueError, match=r"sede(.|\n)*training\.epochs|training\.epochs(.|\n)*sede"
    ):
        load(home, changed("sede", 1) | {"training": {"epochs": 0}})


SECTIONS = {
    "sede": config.Profile,
    "explain.lime_sample": config.ExplainSpec,
    "models.small.layer": config.ModelSpec,
}
SECTIONS |= {"tasks.snli.seed": config.TaskSpec, "faithfulness.ratio": config.FaithfulnessSpec}


def test_an_unknown_key_names_the_allowed(home):
    """Contract 10."""
    for path, section in SECTIONS.items():
        with pytest.raises(
            ValueError, match=f"{re.escape(path)}: unknown key; allowed are: "
        ) as raised:
            load(home, changed(path, 1))
        allowed = str(raised.value).split("allowed are: ")[1].split("\n")[0]
        assert allowed.split(", ") == list(section.model_fields)


def test_a_bad_value_says_where_and_what_would_do(home):
    for path, value, words in [
        ("explain.lime_samples", "many", ["explain.lime_samples", "integer", "'many'"]),
        ("explain.methods", ["lime", "shap"], ["unknown method 'shap'", *METHODS]),
        ("explain.methods", ["lime", "lime"], ["named twice"]),
        ("explain.methods", [], ["explain.methods", "at least 1"]),
        ("training.precision", "float16", ["training.precision", "'float32'", "'bfloat16'"]),
        ("faithfulness.ratios", [0.0], ["faithfulness.ratios.0", "greater than 0"]),
        ("models.small.weights", "minilm", ["models.small", "`weights`"]),
        ("tasks.snli.models", ["large"], ["'large'", "defined are: small"]),
        ("tasks.sst3", GOOD["tasks"]["snli"], ["unknown task 'sst3'", *TASKS]),
        ("tasks", 3, ["tasks", "dict"]),
    ]:
        with pytest.raises(ValueError, match=r"mine\.yaml is not a valid profile") as raised:
            load(home, changed(path, value))
        assert all(word in str(raised.value) for word in words), str(raised.value)


def test_a_file_that_holds_no_profile(home):
    for text, words in [
        ("", "holds no profile"),
        ("- a\n", "holds no profile"),
        ("a: [1\n", "not valid YAML"),
    ]:
        (home / "config" / "mine.yaml").write_text(text)
        with pytest.raises(ValueError, match=rf"mine\.yaml .*{words}|mine\.yaml is {words}"):
            config.load_profile("mine")


def test_an_unknown_profile_names_the_known_and_the_nearest(home):
    with pytest.raises(
        ValueError, match=r"'qick'; there are: mine, quick, reference; did you mean 'quick'"
    ):
        config.load_profile("qick")
    with pytest.raises(ValueError, match=r"'zzz'; there are: mine, quick, reference$"):
        config.load_profile("zzz")


def test_no_project_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTREVAL_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert project.home() == CHECKOUT  # where this package was installed from
    monkeypatch.setattr(project, "__file__", str(tmp_path / "lib" / "compendium" / "project.py"))
    with pytest.raises(FileNotFoundError, match="set ATTREVAL_HOME"):
        config.profiles()


def test_an_unknown_parameter_names_the_allowed():
    """Contract 10."""
    for notebook in list(parameters.NOTEBOOKS):
        with pytest.raises(
            ValueError, match=f"{notebook}: profil: unknown parameter. Allowed are: "
        ) as raised:
            parameters.check_parameters(notebook, {"profil": "quick"})
        allowed = str(raised.value).split("Allowed are: ")[1]
        assert all(f"{name}: " in allowed for name in parameters.NOTEBOOKS[notebook].model_fields)


def test_a_mistyped_parameter_is_an_error():
    for given, words in [
        ({"seed": "1"}, "seed: Input should be a valid integer .*'1'"),
        ({"seed": True}, "seed: Input should be a valid integer"),
        ({"seed": -1}, "seed: .*greater than or equal to 0"),
        ({"instances": 0}, "instances: .*greater than or equal to 1"),
        ({"methods": []}, "methods: .*at least 1"),
        ({"methods": [1]}, r"methods\.0: Input should be a valid string"),
    ]:
        with pytest.raises(ValueError, match=f"03_explain: {words}.*Allowed are: .*seed: int"):
            parameters.check_parameters("03_explain", given)


def test_an_unknown_notebook_names_the_known():
    with pytest.raises(ValueError, match="'99_no'; there are: 01_data, 02_train"):
        parameters.check_parameters("99_no", {})


def test_runs_of_a_notebook_are_told_apart():
    check = parameters.check_parameters
    assert check("01_data", {}).run() == ()
    assert check("02_train", {"task": "a", "model": "b", "seed": 3}).run() == ("a", "b", 3)
    assert check("03_explain", {"shard": 2}).run()[-1] == 2
    names = [
        check("03_explain", given).run() for given in ({}, {"instances": 3}, {"methods": ["lime"]})
    ]
    assert names[1] != names[0] != names[2]


def test_the_namespace_of_a_notebook_gives_its_parameters_only():
    given = {"profile": "quick", "seed": 3, "methods": None}
    shell = {
        "_": 1,
        "__name__": "__main__",
        "_ih": [],
        "In": [""],
        "Out": {},
        "get_ipython": object(),
        "open": open,
    }
    imported = {
        "quit": object(),
        "np": np,
        "begin": step.begin,
        "ceil": math.ceil,
        "Path": type(math),
    }
    assert parameters.read_namespace(given | shell | imported) == given


def test_a_run_begins_with_checked_parameters(home, monkeypatch):
    monkeypatch.setattr(step, "set_threads", lambda threads: None)
    given = {"profile": "mine", "task": "snli", "model": "small", "seed": 1}
    begun = step.begin("02_train", given)
    assert (begun.name, begun.results.root) == ("02_train-snli-small-s1", home / "results" / "mine")
    for wrong, words in (
        ({"task": "bbc"}, "no task 'bbc'; it has: snli"),
        ({"model": "large"}, "no model 'large'; it has: small"),
        ({"seed": 2}, "no seed 2; it has: 1"),
        ({"profile": "min"}, "unknown profile 'min'.*did you mean 'mine'"),
        ({"sead": 1}, "sead: unknown parameter"),
    ):
        with pytest.raises(ValueError, match=words):
            step.begin("02_train", given | wrong)
    with pytest.raises(ValueError, match="no shard 7"):
        step.begin("03_explain", given | {"shard": 7})


@pytest.mark.parametrize("name", ["smoke", "quick", "reference"])
def test_a_profile_without_its_optional_tasks_reaches_another_process(name, monkeypatch):
    monkeypatch.delenv("ATTREVAL_CORPORA", raising=False)
    profile = config.load_profile(name)
    assert pickle.loads(pickle.dumps(profile)) == profile
    # as the explorer reads a manifest's settings
    assert config.Profile.model_validate(profile.model_dump()) == profile


def test_every_field_of_what_methods_may_spend_is_a_key_of_explain_and_declared_once():
    assert set(Budget.model_fields) < set(config.ExplainSpec.model_fields)
    assert not set(Budget.model_fields) & set(vars(config.ExplainSpec)["__annotations__"])


def test_a_profile_is_read_without_what_takes_seconds_to_import():
    """Every command of the study reads one, and Snakemake once more."""
    asks = (
        "import sys, compendium.workflow.run_snakemake; from compendium import config; "
        "config.load_profile('smoke'); "
    )
    asks += "print({'torch', 'nbformat'} & {*sys.modules})"
    assert (
        subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True).stdout
        == "set()\n"
    )
