"""A folder that changes all at once: a kill at any moment leaves the old or the new one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compendium.project import replace_folder


def fill(folder, text):
    with replace_folder(folder) as part:
        (part / "page").write_text(text)


def test_a_folder_is_made_and_replaced(tmp_path):
    folder = tmp_path / "_site"
    for text in ("old", "new"):
        fill(folder, text)
        assert (folder / "page").read_text() == text
        assert [path.name for path in tmp_path.iterdir()] == ["_site"]


def test_an_error_leaves_the_old_folder(tmp_path):
    folder = tmp_path / "_site"
    fill(folder, "old")
    with pytest.raises(RuntimeError), replace_folder(folder) as part:
        (part / "page").write_text("half")
        raise RuntimeError
    assert (folder / "page").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_killed_process_leaves_the_old_folder_and_the_next_one_cleans_up(tmp_path):
    folder = tmp_path / "_site"
    fill(folder, "old")
    code = (
        "import os, signal, sys; from pathlib import Path; from compendium.project import replace_folder\n"
        "with replace_folder(Path(sys.argv[1])) as part:\n"
        " (part / 'page').write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=False)
    assert done.returncode != 0
    assert (folder / "page").read_text() == "old" and len(list(tmp_path.iterdir())) == 2
    fill(folder, "new")
    assert (folder / "page").read_text() == "new" and len(list(tmp_path.iterdir())) == 1


def test_the_old_folder_comes_back_where_a_kill_fell_between_two_renames(tmp_path):
    (tmp_path / "_site.old.part").mkdir()
    (tmp_path / "_site.old.part" / "page").write_text("old")
    with pytest.raises(RuntimeError), replace_folder(tmp_path / "_site"):
        raise RuntimeError
    assert (tmp_path / "_site" / "page").read_text() == "old" and len(list(tmp_path.iterdir())) == 1
