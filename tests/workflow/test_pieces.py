"""A long profile runs in pieces: a target asks for what its paper judges, not for what only another one needs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from reference import CHECKOUT

WANTED = {  # notebook: (a run that it judges, one that it does not)
    "04_poerner2018": ("task=bbc, model=gru", "task=snli, model=bart_small"),
    "05_kamp2023": ("task=snli, model=minilm", "task=bbc, model=gru"),
    "06_zhao2023": ("task=imdb, model=minilm_long", "task=agreement_parsed, model=uni_gru"),
    "07_sun2024": ("task=snli, model=bart_small", "task=rotten_tomatoes, model=minilm"),
}


@pytest.mark.parametrize("notebook", WANTED)
def test_a_notebook_trains_only_the_models_that_it_judges(notebook, tmp_path):
    env = {k: v for k, v in os.environ.items() if k != "ATTREVAL_CORPORA"}
    env |= {"ATTREVAL_HOME": str(CHECKOUT), "ATTREVAL_DATA": str(tmp_path / "data")}
    env |= {"ATTREVAL_RESULTS": str(tmp_path / "results"), "PYTHONPATH": str(CHECKOUT / "src")}
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(CHECKOUT / "workflow" / "Snakefile"), "-n"]
    command += ["--nolock", "--nocolor", "--cores", "1", "--directory", str(tmp_path), "--config", "profile=quick"]
    command += ["--", str(tmp_path / "results" / "quick" / "notebooks" / f"{notebook}.ipynb")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    trained = [job for job in done.stdout.split("\nrule ") if job.startswith("train:")]
    asked, spared = WANTED[notebook]
    assert any(asked in job for job in trained)
    assert not any(spared in job for job in trained)
