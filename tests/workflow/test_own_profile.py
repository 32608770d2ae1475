"""A profile of one's own in the workflow: its file and its model's folder are inputs, and any path can be given."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from reference import CHECKOUT

from attreval.core.tables import write_json

PROFILE = """
name: My-Run.2
models:
  mine: { weights: model }
corpora:
  reviews: { file: my texts.csv, labels: [neg, pos] }
tasks:
  reviews: { models: [mine], train_rows: 0, dev_rows: 0, test_rows: 4, explain_rows: 2 }
  hybrid_reviews: { models: [mine], explain_rows: 1, judges: [pointing] }
"""


@pytest.fixture
def planned(tmp_path):
    """What the workflow would run for such a profile, whose path has a space and a quote, as snakemake prints it."""
    folder = tmp_path / "it's mine"
    folder.mkdir()
    write_json(folder / "model" / "config.json", {"id2label": {"0": "neg", "1": "pos"}})
    (folder / "model" / "model.safetensors").write_bytes(b"")
    (folder / "my texts.csv").write_text("text,label\ngood,pos\nbad,neg\n")
    (folder / "a profile.yaml").write_text(PROFILE)
    left = {k: v for k, v in os.environ.items() if k != "ATTREVAL_CORPORA"}
    env = left | {"ATTREVAL_HOME": str(CHECKOUT), "ATTREVAL_DATA": str(tmp_path / "data")}
    env |= {"ATTREVAL_RESULTS": str(tmp_path / "results"), "PYTHONPATH": str(CHECKOUT / "src")}
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(CHECKOUT / "workflow" / "Snakefile"), "-n", "-p"]
    command += ["--nolock", "--nocolor", "--cores", "1", "--directory", str(tmp_path)]
    command += ["--config", f"profile={folder / 'a profile.yaml'}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_an_own_file_and_an_own_model_are_inputs_of_the_workflow(planned):
    jobs = planned.split("\nrule ")
    (train,) = [job for job in jobs if job.startswith("train:")]
    inputs = train.partition("input:")[2].partition("output:")[0]
    assert "processed/folder-" in inputs and "processed/reviews-" in inputs
    tables = [job for job in planned.split("rule ") if job.startswith("fetch_table:")]
    assert len(tables) == 2 and any("processed/hybrid_reviews-" in job.partition("output:")[2] for job in tables)
    assert "/results/My-Run.2/" in train
    assert """it'"'"'s mine/a profile.yaml'""" in train  # quoted for the shell
