"""A user's own file as a task, read as any corpus; a changed file is another table."""

import numpy as np
import pytest

from attreval.core.tables import read_about
from attreval.texts.data import Columns
from compendium import corpora
from compendium.corpora import TASKS
from compendium.corpora.fetch.fetching import with_tables
from compendium.corpora.own_tasks import register
from compendium.workflow.graph import folder_stamp, stamp_path, write_stamps

LINES = [
    (f"A {word} film {n}. It was {word}.", label)
    for n in range(8)
    for word, label in (("good", "1"), ("bad", "0"))
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty data folder, and the tasks as they were when the test is over."""
    before = dict(TASKS)
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("ATTREVAL_CORPORA", raising=False)
    yield tmp_path
    TASKS.clear()
    TASKS.update(before)


def write(folder, lines=LINES, name="mine.csv"):
    folder.mkdir(exist_ok=True)
    text = "".join(f'"{text}",{label},"[[2, 6]]"\n' for text, label in lines)
    (folder / name).write_text(f"text,label,why\n{text}")
    return folder / name


def fetch(*tasks):
    said = []
    corpora.fetch_tasks(tasks, say=said.append)
    return said


def test_a_file_becomes_a_task_with_people_and_hybrid_documents(place):
    file = write(place / "own")
    task = register("mine", file, Columns(rationale="why"), title="Mine: good or bad?")
    assert (
        TASKS["mine"] is task
        and task.labels == ("0", "1")
        and task.splits == ("test",)
        and task.short == "Mine"
    )
    assert (
        corpora.at_hand("mine")
        and corpora.at_hand("hybrid_mine")
        and corpora.evidence_tasks("mine") == []
    )
    assert [one.name for one in with_tables(("hybrid_mine",))] == ["mine", "hybrid_mine"]
    # what reads it, too
    assert {"data.py", "files.py", "marks.py"} <= {path.name for path in task.code()}
    fetch("hybrid_mine")
    found = corpora.load_task("mine", "test")
    assert len(found) == 16 and {i.id.rpartition("/")[0] for i in found} == {"mine/test"}
    assert all(
        next(i.word_texts()[w] for w in np.flatnonzero(i.evidence.marks[0])) in ("good", "bad")
        for i in found
    )
    assert [i.id for i in found] != sorted(
        (i.id for i in found), key=lambda name: int(name.rpartition("/")[2])
    )
    documents = corpora.load_task("hybrid_mine", "test")
    assert len(documents) == 4 and {c for i in documents for c in i.evidence.classes} == {0, 1}
    assert TASKS["hybrid_mine"].trained_on == "mine" and TASKS["hybrid_mine"].labels == task.labels
    assert any("already here" in line for line in fetch("mine"))
    about = read_about(corpora.table_path("mine"))
    assert about["rows"] == {"test": 16} and about["files"][0]["name"] == "mine.csv"


def test_files_of_one_name_never_meet_and_a_changed_file_is_another_table(place):
    one = write(place / "a")
    other = write(place / "b", LINES[:6])
    register("mine", one, Columns())
    fetch("mine")
    first = corpora.table_path("mine")
    write_stamps(["mine"])
    assert stamp_path("mine") == first.with_suffix(".json") and stamp_path("mine").exists()
    register("mine", other, Columns())
    assert corpora.table_path("mine") != first and not stamp_path("mine").exists()
    with pytest.raises(FileNotFoundError, match="attreval fetch --profile"):
        corpora.load_task("mine", "test")
    register("mine", one, Columns(rationale="why"))
    assert corpora.table_path("mine") != first  # read in another way
    register("mine", one, Columns())
    assert corpora.table_path("mine") == first and len(corpora.load_task("mine", "test")) == 16
    write(place / "a", LINES[:4])
    register("mine", one, Columns())
    assert corpora.table_path("mine") != first
    moved = write(place / "c", LINES[:4], "mine.csv")
    changed = corpora.table_path("mine")
    register("mine", moved, Columns())
    assert corpora.table_path("mine") == changed  # the same bytes elsewhere are the same table


def test_a_file_that_changes_after_the_profile_is_read_is_told(place):
    register("mine", write(place / "own"), Columns())
    write(place / "own", LINES[:4])
    with pytest.raises(
        ValueError, match=r"mine.csv has changed since the profile was read; run the same command"
    ):
        fetch("mine")


def test_labels_are_the_models_where_every_label_fits_them(place):
    file = write(place / "own")
    for more, wanted in (({}, ("bad", "good")), ({"labels": ("no", "yes")}, ("no", "yes"))):
        assert register("mine", file, Columns(), prefer=("bad", "good"), **more).labels == wanted
    assert register("mine", file, Columns(), prefer=("bad",)).labels == ("0", "1")


def test_a_pair_has_two_segments_and_no_hybrid_documents(place):
    file = place / "pairs.jsonl"
    file.write_text(
        '{"text": "a", "query": "b", "label": "x"}\n{"text": "c", "query": "d", "label": "y"}\n'
    )
    register("mine", file, Columns())
    assert "hybrid_mine" in TASKS
    assert (
        register("mine", file, Columns(pair="query")).segments == ("text", "query")
        and "hybrid_mine" not in TASKS
    )
    fetch("mine")
    assert sorted(i.segments for i in corpora.load_task("mine", "test")) == [("a", "b"), ("c", "d")]


def test_a_shipped_corpus_is_never_replaced(place):
    for name in ["snli", "hybrid_bbc"]:
        shipped = TASKS[name]
        with pytest.raises(ValueError, match="is the name of a corpus that comes with attreval"):
            register(name, write(place / "own"), Columns())
        assert TASKS[name] is shipped


def test_another_model_in_the_same_folder_has_another_stamp(place):
    folder = place / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"one")
    stamp = folder_stamp(folder)
    first = stamp.read_text()
    written = stamp.stat().st_mtime_ns
    # nothing has changed
    assert folder_stamp(folder) == stamp and stamp.stat().st_mtime_ns == written
    (folder / "notes.md").write_text("no part of the model")
    assert folder_stamp(folder).stat().st_mtime_ns == written
    (folder / "model.safetensors").write_bytes(b"two")
    assert folder_stamp(folder).read_text() != first
    (folder / "model.safetensors").write_bytes(b"one")
    assert folder_stamp(folder).read_text() == first
    (place / "other").mkdir()
    assert folder_stamp(place / "other") != stamp
