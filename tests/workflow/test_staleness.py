"""What makes a step run again, in both directions: what it computes does, and nothing else."""

import ast
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from reference import CHECKOUT, models, words

from attreval.models.loading import load_classifier
from attreval.models.training import measure_performance, train
from compendium import config, imports, project
from compendium.config import TrainingSpec
from compendium.corpora import TASKS
from compendium.imports import PACKAGES, closure, code_digest
from compendium.workflow.graph import notebook_digest, notebook_modules
from compendium.workflow.steps import NOT_TRAINED, STEPS, TASK_FACTS, Graph

NOTEBOOKS = {step.notebook: step for step in STEPS}
METHOD = "methods/lime.py"
# parts of the packages -> the notebooks that depend on them
READERS = {
    METHOD: [name for name in NOTEBOOKS if name not in ("01_data", "02_train")],
    "models/training.py": ["02_train", "05_kamp2023_seeds", "07_sun2024_agents"],
    "papers/poerner2018/hits.py": ["04_poerner2018"],
    "papers/pipeline/data.py": ["01_data"],
}


def files_of(paths):
    roots = PACKAGES.values()
    return {
        path.relative_to(next(root for root in roots if path.is_relative_to(root))).as_posix()
        for path in paths
    }


def code(notebook):
    """The package files that decide over a notebook."""
    return files_of(notebook_modules(notebook, NOTEBOOKS[notebook].not_run))


def test_a_notebook_depends_neither_on_the_schema_nor_on_what_brings_data_nor_on_the_renderer():
    for notebook in NOTEBOOKS:
        found = code(notebook)
        others = (
            "config/",
            "site/",
            "explorer/",
            "cli",
            "catalogue",
            "corpora/fetch",
            "corpora/tasks",
            "workflow/steps",
        )
        assert not [name for name in found if name.startswith(others)]
        assert {"workflow/step.py", "core/tables.py", "corpora/__init__.py"} <= found


def test_what_depends_on_a_file_is_known():
    for part in READERS:
        assert any((root / part).exists() for root in PACKAGES.values())
        held = [name for name in NOTEBOOKS if part in code(name)]
        assert set(READERS[part]) <= set(held)
        if part == METHOD:
            assert held == READERS[part], "training and the data must not depend on a method"
        if part.startswith("papers/"):
            assert not {"02_train", "03_explain"} & set(held)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of both packages that may be changed."""
    folder = tmp_path_factory.mktemp("src")
    return folder, {name: shutil.copytree(root, folder / name) for name, root in PACKAGES.items()}


@pytest.fixture
def copied(sources, monkeypatch):
    """The folder of that copy, and the digests of the code of steps as the copy has it now."""
    folder, packages = sources
    monkeypatch.setattr(imports, "PACKAGES", packages)
    by_rule = {step.rule: step for step in STEPS}
    return folder, lambda rules: {
        r: notebook_digest(by_rule[r].notebook, by_rule[r].not_run) for r in rules
    }


def test_a_changed_docstring_or_comment_makes_no_step_run_again(copied):
    folder, digests = copied
    rules = [step.rule for step in STEPS]
    before = digests(rules)
    for path in folder.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and ast.get_docstring(node) is not None
            ):
                first = node.body[0].lineno - 1
                lines[first] = lines[first].replace('"""', '"""Changed: ', 1)
        path.write_text("# a comment\n" + "\n".join(lines) + "  # another\n", encoding="utf-8")
    assert digests(rules) == before


def test_changed_code_makes_those_steps_run_again_that_run_it(copied):
    for module, again in [
        ("attreval/models/words/relevance_walk.py", {"train": False, "explain": True}),
        (
            "attreval/methods/lime.py",
            {"train": False, "explain": True, "data": False, "planted": True},
        ),
        ("attreval/models/training.py", {"train": True, "explain": False, "seeds": True}),
        ("compendium/corpora/fetch/download.py", {step.rule: False for step in STEPS}),
    ]:
        folder, digests = copied
        before = digests(again)
        path = folder / module
        with path.open("a") as handle:
            handle.write("\nCHANGED = 1\n")
        after = digests(again)
        assert {rule: after[rule] != before[rule] for rule in again} == again


def test_training_runs_nothing_of_what_is_said_not_to_be_run(tmp_path):
    """Every architecture is trained, tested, and read again; the functions that run are listed."""
    ran: set[str] = set()
    spec = TrainingSpec(epochs=1, batch_rows=8, evaluations_per_epoch=1, averaging=0.5, masked=True)
    made = [models.untrained_model(), *(words.tiny_words(name) for name in words.ARCHITECTURES)]
    try:
        sys.setprofile(
            lambda frame, event, _: ran.add(frame.f_code.co_filename) if event == "call" else None
        )
        for number, model in enumerate(made):
            labels = [one for one in models.toy(8) if one.label < len(model.labels)]
            train(model, labels, labels, spec, tmp_path / str(number), ("toy", 1))
            measure_performance(
                load_classifier(tmp_path / str(number), "again", "cpu", 64), labels, "float32"
            )
    finally:
        sys.setprofile(None)
    assert any(name.endswith("models/training.py") for name in ran)
    places = {name: find_spec(name).origin for name in NOT_TRAINED}
    assert not {name for name, place in places.items() if place in ran}


def test_what_a_step_reads_of_a_task_and_of_the_profile_makes_it_run_again(monkeypatch):
    monkeypatch.delenv("ATTREVAL_CORPORA", raising=False)
    profile = config.load_profile(str(CHECKOUT / "config" / "smoke.yaml"))
    steps = {step.rule: step for step in STEPS}
    run = ("snli", "tiny", 1)

    def state(rule, profile, *run):
        return repr(steps[rule].state(Graph(profile), *run))

    other = profile.changed(agreement=profile.agreement.changed(largest_k=4))
    assert state("agreement", other) != state("agreement", profile) and "largest_k" not in state(
        "train", other, *run
    )
    assert state("train", other, *run) == state("train", profile, *run)
    longer = profile.changed(training=profile.training.changed(epochs=9))
    assert state("train", longer, *run) != state("train", profile, *run)
    assert state("explain", longer, *run, 0) == state("explain", profile, *run, 0)
    fewer = profile.changed(explain=profile.explain.changed(lime_samples=50))
    assert state("explain", fewer, *run, 0) != state("explain", profile, *run, 0)
    assert state("faithfulness", fewer) != state("faithfulness", profile)
    assert state("train", fewer, *run) == state("train", profile, *run)
    softer = profile.changed(
        joint=profile.joint.changed(budgets=profile.joint.budgets.changed(rows=3))
    )
    assert state("joint_settings", softer) != state("joint_settings", profile)
    assert [state(rule, softer) for rule in ("joint", "joint_models")] == [
        state(rule, profile) for rule in ("joint", "joint_models")
    ]
    read = steps["joint_models"].read_files(Graph(profile))
    assert {Path(file).stem for file in read} >= {"08_joint", "07_sun2024"}
    titles = [getattr(TASKS["snli"], name) for name in TASK_FACTS]
    assert repr(titles) in state("train", profile, *run) and repr(titles) in state("joint", profile)


def test_a_table_depends_on_its_builder_and_not_on_others():
    for task in TASKS:
        found = files_of(TASKS[task].code())
        assert {
            f"corpora/{TASKS[task].module}.py",
            "corpora/table.py",
            "texts/rows.py",
            "core/tables.py",
        } <= found
        others = {f"corpora/{other.module}.py" for other in TASKS.values()} - found
        assert len(others) >= 4 and not [
            name for name in found if name.startswith(("config/", "methods/", "models/"))
        ]
        assert not [name for name in found if name.startswith("corpora/fetch/")]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("x = 1", "x  =  1  # one", True),
        ("def f():\n    '''Say.'''", "def f():\n    pass", True),
        ('"""Module."""\nclass A:\n    """A."""\n    b: int = 1', "class A:\n    b: int = 1", True),
        ("x = 1", "x = 2", False),
        ("x = None", "x = []", False),
        ("f('doc')", "f('cod')", False),
        ("class A:\n    b: int", "class A:\n    b: float", False),
    ],
)
def test_the_digest_of_code_is_of_what_it_does(tmp_path, monkeypatch, first, second, same):
    monkeypatch.setattr(imports, "PACKAGES", {tmp_path.name: tmp_path})
    found = []
    for source in (first, second):
        (tmp_path / "a.py").write_text(source)
        found.append(code_digest([tmp_path / "a.py"]))
    assert (found[0] == found[1]) == same


def test_the_closure_follows_imports_of_imports_wherever_they_are():
    found = files_of(closure(["def f():\n    from attreval.methods.run import explain_instances"]))
    assert {
        "methods/run.py",
        "methods/integrated_gradients.py",
        "models/scorer.py",
        "core/records.py",
    } <= found
    assert not [name for name in found if name.startswith(("metrics/", "papers/", "site/"))]
    packages = {"__init__.py", "core/__init__.py"}
    assert files_of(closure(["from attreval.core.seeds import seed_of"])) == packages | {
        "core/seeds.py"
    }
    assert closure(["import numpy"]) == []


def test_what_is_left_out_is_not_followed():
    source = "from attreval.methods.run import explain_instances"
    every = files_of(closure([source], ()))
    some = files_of(closure([source], ("attreval.models",)))
    assert {name for name in every - some if not name.startswith(("models/", "core/"))} == set()
    assert "models/scorer.py" in every - some


def test_who_reads_what_a_package_collects_depends_on_all_that_it_collects(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "PACKAGES", {"found": tmp_path})
    (tmp_path / "all").mkdir()
    collects = f'x = held_in("found.all", object)  # {tmp_path}'
    sources = {"__init__": collects, **dict.fromkeys(("one", "two"), "from found.fact import fact")}
    sources["three"] = (
        '@_fact("A title")\ndef three(): ...'  # of a decorator that another module has made
    )
    sources["helper"] = "@cache\ndef four(): ..."
    for name, source in sources.items():
        (tmp_path / "all" / f"{name}.py").write_text(source)
    assert {path.stem for path in closure(["from found.all import ALL"])} == {
        "__init__",
        *("one", "two", "three"),
    }
    assert {path.stem for path in closure(["from found.all.one import x"])} == {"__init__", "one"}


def test_the_code_of_a_notebook_is_its_code_cells(tmp_path, monkeypatch):
    cells = [
        v4.new_markdown_cell("import attreval.methods.run"),
        v4.new_code_cell("import attreval.core.seeds"),
    ]
    (tmp_path / "notebooks").mkdir()
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "notebooks" / "n.ipynb")
    monkeypatch.setattr(project, "home", lambda: tmp_path)
    assert [path.name for path in notebook_modules("n")] == [
        "__init__.py",
        "__init__.py",
        "seeds.py",
    ]


# A long profile runs in pieces: a target asks for what its paper judges, not for what only another
# one needs
WANTED = {  # notebook: (a model that it judges, one that it does not)
    "04_poerner2018": (("bbc", "gru"), ("snli", "bart_small")),
    "05_kamp2023": (("snli", "minilm"), ("bbc", "gru")),
    "06_zhao2023": (("imdb", "minilm_long"), ("agreement_parsed", "uni_gru")),
    "07_sun2024": (("snli", "bart_small"), ("rotten_tomatoes", "minilm")),
}


@pytest.mark.parametrize("notebook", WANTED)
def test_a_notebook_trains_only_the_models_that_it_judges(notebook, monkeypatch):
    monkeypatch.delenv("ATTREVAL_CORPORA", raising=False)
    graph = Graph(config.load_profile(str(CHECKOUT / "config" / "quick.yaml")))
    makers = {
        f: (step, run)
        for step in STEPS
        for run in step.runs(graph)
        for f in step.made_files(graph, *run)
    }
    todo = [str(path) for path in graph.executed(notebook)]
    trained = set()
    while todo:
        step, run = makers.pop(todo.pop(), (None, ()))
        if step:
            trained |= {run[:2]} if step.rule == "train" else set()
            todo += step.read_files(graph, *run)
    asked, spared = WANTED[notebook]
    assert asked in trained and spared not in trained
