"""The library without the study: it explains and evaluates where none of the study's packages can
be imported.
"""

import os
import subprocess
import sys

from reference import CHECKOUT

STUDY = (
    "compendium snakemake papermill nbclient nbformat nbconvert jupyterlab ipykernel IPython "
    "pypandoc panflute typst "
    "spacy seaborn captum shap numba matplotlib shapiq lightgbm"
)
PROGRAM = f"""
import sys
from pathlib import Path

folder = Path(sys.argv[1])

for name in {STUDY.split()!r}:
    sys.modules[name] = None  # importing it raises ModuleNotFoundError

import attreval as av
from reference.models import tiny_model

model = tiny_model()
found = av.explain(model, ["a film worth seeing", "a dull film"], methods=["gradient_l2", "omission_1"])
table = av.evaluate(model, found)
assert set(table.method) == {{"gradient_l2", "omission_1", "random"}} and len(set(table.metric)) > 5
assert found.to_json()
wanted = [lambda: found.to_shap("omission_1"), lambda: found.to_captum("omission_1")]
wanted += [lambda: found.save(folder / "picture.png"), lambda: av.explain(model, ["a film"], methods=["deeplift"])]
for asked in wanted:
    try:
        asked()
    except (ImportError, ValueError) as error:
        assert "pip install 'attreval[" in str(error), error
    else:
        raise AssertionError("an extra was not missed")
import attreval.cli
from typer.testing import CliRunner
said = CliRunner().invoke(attreval.cli.app, ["run", "--profile", "mine.yaml"]).output
assert "pip install -e '.[compendium]'" in said, said
from attreval.api.catalogue import list_methods, list_metrics
assert len(list_methods()) > 50 and len(list_metrics()) > 30

import pandas as pd
from reference.planted_texts import train_planted, write_texts

write_texts(folder / "reviews.csv", 6)
model = train_planted("roberta", folder / "model", learned=False)
words = ["--model", model, "--data", folder / "reviews.csv", "--text", "review", "--label", "stars"]
words += ["--rationale", "why", "--out", folder / "report", "--methods", "gradient_l2,omission_1", "--cores", 1]
assert "pip install" in CliRunner().invoke(attreval.cli.app, ["check", str(model)]).output
done = CliRunner().invoke(attreval.cli.app, ["evaluate", *map(str, words)])
assert done.exit_code == 0, done.output
assert "Omission" in (folder / "report" / "report.html").read_text()
assert set(pd.read_csv(folder / "report" / "values.csv").method) == {{"gradient_l2", "omission_1", "random"}}
words = ["trial", "--world", "rules", "--metric", "nc", "--texts", "8", "--out", str(folder / "t.html")]
done = CliRunner().invoke(attreval.cli.app, words)
assert done.exit_code == 0 and "Condemned" in done.output and (folder / "t.html").exists(), done.output
print("alone")
"""  # noqa: E501


def test_the_library_explains_and_evaluates_where_nothing_of_the_study_can_be_imported(tmp_path):
    path = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT / "src", CHECKOUT / "tests")))
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        env=path,
    )
    assert done.returncode == 0 and done.stdout.endswith("alone\n"), done.stderr
