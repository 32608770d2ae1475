"""The source notebooks: no outputs, no definitions, a question, checked parameters."""

import ast

import nbformat
import papermill
import yaml
from reference import CHECKOUT

from compendium.workflow.graph import code_of, notebook_modules
from compendium.workflow.parameters import NOTEBOOKS

DEMO = CHECKOUT / "notebooks" / "00_demo.ipynb"  # of the library alone: no step, no profile
PATHS = sorted({*DEMO.parent.glob("*.ipynb")} - {DEMO})
DEFINED = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.AsyncFunctionDef, ast.For, ast.While)


def test_it_is_committed_without_outputs_and_defines_nothing():
    for path in [DEMO, *PATHS]:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert not any(cell.outputs or cell.execution_count for cell in code)
        assert not [
            node for node in ast.walk(ast.parse(code_of(path))) if isinstance(node, DEFINED)
        ]
        labelled = [cell.source for cell in code if "#| label:" in cell.source]
        assert all("#| fig-alt:" in source and "#| fig-cap:" not in source for source in labelled)


def test_it_asks_a_question_first_takes_the_parameters_of_its_schema_and_leaves_a_record_last():
    for path in PATHS:
        cells = nbformat.read(path, as_version=4).cells
        assert cells[0].source.startswith("# ") and "**Question.**" in cells[0].source
        assert cells[-1].source.strip() == "step.finish()"
        (tagged,) = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", ())]
        given = {
            node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(tagged).body
        }
        assert given == {
            name: field.default for name, field in NOTEBOOKS[path.stem].model_fields.items()
        }
        assert f'begin("{path.stem}", globals())' in code_of(path)
        assert any(file.name == "step.py" for file in notebook_modules(path.stem)), (
            "its code is found"
        )


def test_every_notebook_has_a_schema_and_every_profile_what_every_other_has():
    assert [path.stem for path in PATHS] == sorted(NOTEBOOKS)
    keys = {
        path.stem: set(yaml.safe_load(path.read_text()))
        for path in (CHECKOUT / "config").glob("*.yaml")
    }
    assert set(keys) == {"smoke", "quick", "reference", "paper", "controls"}
    assert all({"name", "models", "tasks", "explain"} <= found for found in keys.values())


def test_what_puts_stored_results_together_loads_no_model():
    files = set(notebook_modules("03_overview"))
    models = CHECKOUT / "src" / "attreval" / "models"
    # no network
    plain = {
        models / "__init__.py",
        models / "classifier.py",
        models / "outputs.py",
        *(models / "questions").glob("*.py"),
    }
    assert not {path for path in files if path.is_relative_to(models)} - plain


def test_each_paper_works_a_text_by_hand_before_any_table_of_its_own():
    for name in ("04_poerner2018", "05_kamp2023", "06_zhao2023", "07_sun2024"):
        cells = nbformat.read(DEMO.with_name(f"{name}.ipynb"), as_version=4).cells
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        explained = next(at for at, source in enumerate(code) if "av.explain(" in source)
        tables = [at for at, source in enumerate(code) if "step.table(" in source]
        assert explained < min(tables), name
        assert cells[-3].source == "## The answer", name


def test_code_of_notebooks_fits_its_lines():
    for path in [DEMO, *PATHS]:
        lines = [line for line in code_of(path).splitlines() if not line.startswith("#|")]
        assert max(map(len, lines)) <= 100, path.stem


def test_the_demo_runs_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT / "src"))
    papermill.execute_notebook(
        DEMO, tmp_path / "demo.ipynb", {"texts": 8}, cwd=str(tmp_path), progress_bar=False
    )
    cells = nbformat.read(tmp_path / "demo.ipynb", 4).cells
    shown = [
        output.data for cell in cells for output in cell.get("outputs", ()) if "data" in output
    ]
    assert "attreval-shown" in shown[0]["text/html"] and "planted truth" in shown[-1]["text/html"]
