"""What makes a step run again, in both directions: what it depends on does, and nothing else."""

from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from reference import CHECKOUT

from compendium import imports
from compendium.corpora import TASKS
from compendium.imports import PACKAGES, closure, hash_files
from compendium.workflow.staleness import notebook_files

NOTEBOOKS = sorted(path.stem for path in (CHECKOUT / "notebooks").glob("*.ipynb"))
METHOD = "methods/lime.py"
# parts of the package -> the notebooks that depend on them
READERS = {
    METHOD: [name for name in NOTEBOOKS if name not in ("01_data", "02_train", "09_planted")],
    "models/training.py": ["02_train", "05_kamp2023_seeds", "07_sun2024_agents"],
    "papers/poerner2018/hits.py": ["04_poerner2018"],
    "papers/pipeline/data.py": ["01_data"],
}


def files_of(paths):
    roots = PACKAGES.values()
    return {path.relative_to(next(root for root in roots if path.is_relative_to(root))).as_posix() for path in paths}


def code(notebook):
    """The package files of a notebook."""
    first, *rest = notebook_files(CHECKOUT / "notebooks" / f"{notebook}.ipynb")
    assert first.endswith(f"{notebook}.ipynb")
    return files_of(map(Path, rest))


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_depends_neither_on_the_schema_nor_on_the_renderer(notebook):
    """A key of a section, or the PDF route, makes no notebook run again: values travel as params of the rules."""
    found = code(notebook)
    assert not [name for name in found if name.startswith(("config/", "site/", "explorer/", "cli", "catalogue"))]
    assert {"workflow/step.py", "core/tables.py", "corpora/tasks.py"} <= found


@pytest.mark.parametrize("part", READERS)
def test_what_depends_on_a_file_is_known(part):
    assert any((root / part).exists() for root in PACKAGES.values())
    held = [name for name in NOTEBOOKS if part in code(name)]
    assert set(READERS[part]) <= set(held)
    if part == METHOD:
        assert held == READERS[part], "training, the data and the planted worlds must not depend on a method"
    if part.startswith("papers/"):
        assert not {"02_train", "03_explain"} & set(held)


@pytest.mark.parametrize("task", TASKS)
def test_a_table_depends_on_its_builder_and_not_on_others(task):
    found = files_of(TASKS[task].code())
    assert {f"corpora/{TASKS[task].module}.py", "corpora/table.py", "texts/rows.py", "core/tables.py"} <= found
    others = {f"corpora/{other.module}.py" for other in TASKS.values()} - found
    assert len(others) >= 12 and not [name for name in found if name.startswith(("config/", "methods/", "models/"))]
    assert not [name for name in found if name.startswith("corpora/fetch/")]


def test_a_changed_file_changes_the_hash_of_the_code(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "PACKAGES", {tmp_path.name: tmp_path})
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("")
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    before = hash_files(files)
    assert hash_files(files) == before
    (tmp_path / "a.py").write_text("x = 2\n")
    assert hash_files(files) != before


def test_the_closure_follows_imports_of_imports_wherever_they_are():
    found = files_of(closure(["def f():\n    from attreval.methods.run import explain"]))
    assert {"methods/run.py", "methods/integrated_gradients.py", "models/scorer.py", "core/records.py"} <= found
    assert not [name for name in found if name.startswith(("metrics/", "papers/", "site/"))]
    assert files_of(closure(["from attreval.core.seeds import seed_of"])) == {
        "__init__.py",
        "core/__init__.py",
        "core/seeds.py",
    }
    assert closure(["import numpy"]) == []


def test_what_is_left_out_is_not_followed():
    source = "from attreval.methods.run import explain"
    every, some = (files_of(closure([source], leave_out)) for leave_out in ((), ("attreval.models",)))
    assert {name for name in every - some if not name.startswith(("models/", "core/"))} == set()
    assert "models/scorer.py" in every - some


def test_the_code_of_a_notebook_is_its_code_cells(tmp_path):
    cells = [v4.new_markdown_cell("import attreval.methods.run"), v4.new_code_cell("import attreval.core.seeds")]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    first, *rest = notebook_files(tmp_path / "n.ipynb")
    assert first == str(tmp_path / "n.ipynb")
    assert [name.rsplit("/", 1)[1] for name in rest] == ["__init__.py", "__init__.py", "seeds.py"]
