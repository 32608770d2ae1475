"""Paths of results; a missing one says how to make it; a folder changes all at once."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from compendium.project import Results, replace_folder, run_name, step_name
from compendium.workflow import parameters


def test_names_of_runs_and_steps():
    assert run_name("snli", "minilm", 1) == "snli-minilm-s1"
    assert step_name("08_joint") == "08_joint"
    assert step_name("03_explain", "snli", "minilm", 1, 0) == "03_explain-snli-minilm-s1-0"


def test_attributions_of_a_model_whose_name_looks_like_a_seed(tmp_path):
    """The part was once cut out of the step's name, at the first `s1-`, as in `bess1-`."""
    run = {"task": "ends1", "model": "bess1", "seed": 1, "shard": 1}
    for more, part in (({}, "1"), ({"instances": 2}, "1-custom")):
        named = parameters.check_parameters("03_explain", run | more)
        found = Results(tmp_path).attributions(*named.run())
        assert found.name == f"ends1-bess1-s1-{part}.parquet"


def test_a_missing_table_says_what_to_run(tmp_path):
    results = Results(tmp_path / "quick")
    asked = ("accuracy", "02_train", "a", "b", 1)
    path = results.table(*asked)
    with pytest.raises(FileNotFoundError, match=f"{path.name}: run notebook 02_train"):
        results.read_table(*asked)
    path.parent.mkdir(parents=True)
    pd.DataFrame({"x": [1]}).to_csv(path, index=False)
    assert results.read_table(*asked).x.tolist() == [1]


# A kill at any moment leaves the old folder or the new one


def fill(folder, text, error=None):
    with replace_folder(folder) as part:
        (part / "page").write_text(text)
        if error:
            raise error


def only_page(folder):
    """What the one file says of the one folder that lies there."""
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    return (folder / "page").read_text()


def test_a_folder_is_replaced_whole_and_an_error_leaves_the_old_one(tmp_path):
    folder = tmp_path / "_site"
    for text in ("old", "new"):
        fill(folder, text)
        assert only_page(folder) == text
    with pytest.raises(RuntimeError):
        fill(folder, "half", RuntimeError())
    assert only_page(folder) == "new"


def test_a_killed_process_leaves_the_old_folder_and_the_next_one_cleans_up(tmp_path):
    folder = tmp_path / "_site"
    fill(folder, "old")
    code = (
        "import os, signal, sys; from pathlib import Path; from compendium.project import "
        "replace_folder\n"
        "with replace_folder(Path(sys.argv[1])) as part:\n"
        " (part / 'page').write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(folder)], check=False).returncode != 0
    assert (folder / "page").read_text() == "old" and len(list(tmp_path.iterdir())) == 2
    fill(folder, "new")
    assert only_page(folder) == "new"


def test_the_old_folder_comes_back_where_a_kill_fell_between_two_renames(tmp_path):
    (tmp_path / "_site.old.part").mkdir()
    (tmp_path / "_site.old.part" / "page").write_text("old")
    with pytest.raises(RuntimeError):
        fill(tmp_path / "_site", "half", RuntimeError())
    assert only_page(tmp_path / "_site") == "old"
