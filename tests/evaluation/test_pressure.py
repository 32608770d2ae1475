"""An evaluation that is interrupted, or finds the disk full, leaves what was there and can be taken up again."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pandas as pd
import pytest

from compendium import project
from compendium.evaluation import page, running
from compendium.evaluation.asked import Asked


@pytest.fixture
def asked(monkeypatch):
    made = Asked("m", Path("x.csv"), {"text": "text"}, ("a", "b"), ("lime",), 64, 80, seconds={"lime": 0.1})
    monkeypatch.setattr(running, "examine", lambda *_: made)
    monkeypatch.delenv("ATTREVAL_RESULTS", raising=False)
    return made


def test_ctrl_c_leaves_the_machine_as_it_was_and_the_next_call_goes_on(asked, tmp_path, monkeypatch):
    rounds = []

    def interrupted_once(asked, texts, out, cores):
        rounds.append((texts, os.environ["ATTREVAL_RESULTS"]))
        if len(rounds) == 2:
            raise KeyboardInterrupt
        path = project.results("run").table("choice", "08_joint")
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"recommended": [True], "settled": [texts == 80]}).to_csv(path, index=False)

    monkeypatch.setattr(running, "run_round", interrupted_once)
    monkeypatch.setattr(page, "write_report", lambda asked, out, texts: out / "report.html")
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        running.evaluate_own("m", "x.csv", {}, out, say=lambda text: None)
    assert "ATTREVAL_RESULTS" not in os.environ and not (out / "report.html").exists()
    assert running.evaluate_own("m", "x.csv", {}, out, say=lambda text: None) == out / "report.html"
    assert [texts for texts, _ in rounds] == [50, 80, 50, 80] and {place for _, place in rounds} == {str(out)}


def test_a_full_disk_leaves_the_report_that_was_there(asked, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")
    for folder in ("tables", "notebooks"):
        (tmp_path / "run" / folder).mkdir(parents=True)
    monkeypatch.setenv("ATTREVAL_RESULTS", str(tmp_path))
    monkeypatch.setattr(page, "read_findings", lambda *_: None)
    monkeypatch.setattr(page, "write_explorer", lambda *_: [])
    monkeypatch.setattr(page, "make_page", lambda *_: "new")

    def full(path, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        page.write_report(asked, tmp_path, 50)
    assert (tmp_path / "report.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_file_in_the_place_of_the_folder_is_refused(asked, tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ValueError, match="is a file"):
        running.evaluate_own("m", "x.csv", {}, tmp_path / "out", say=lambda text: None)
    assert (tmp_path / "out").read_text() == "mine"
