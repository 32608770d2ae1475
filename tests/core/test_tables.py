"""Tables come back as they were written, and are there whole or not at all."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_equal
from reference import models
from reference.models import instance
from reference.words import tiny_words

from attreval.core import tables
from attreval.core.records import Attribution, Cost, Evidence
from compendium import project
from compendium.workflow import run_snakemake as workflow

number = st.floats(allow_nan=False, allow_infinity=False)
small = st.integers(0, 5)


@st.composite
def instances(draw):
    made = []
    for i in range(draw(st.integers(0, 4))):
        parts = st.lists(st.text("ab é\n\N{GRINNING FACE}", max_size=30), min_size=1, max_size=2)
        segments = draw(parts)
        words = len(instance(*segments).words)
        people = draw(st.integers(0, 3)) if words else 0
        marks = draw(arrays(float, (people, words if people else 0), elements=number))
        spans = draw(st.lists(st.tuples(small, small, small), max_size=3))
        link = st.tuples(small, small, small, small, st.text("aé", max_size=5))
        links = draw(st.lists(link, max_size=3))
        evidence = Evidence(marks, tuple(spans), tuple(links))
        more = {"label": draw(small), "split": draw(st.sampled_from(["", "dev", "test"]))}
        made.append(instance(*segments, name=f"{i}", evidence=evidence, **more))
    return made


@settings(max_examples=20)
@given(made=instances())
def test_instances_come_back(tmp_path, made):
    path = tmp_path / "task.parquet"
    tables.write_instances(path, made, {"task": "é", "labels": ["a", "b"]})
    assert tables.read_about(path) == {"task": "é", "labels": ["a", "b"]}
    found = tables.read_instances(path)
    assert len(found) == len(made)
    for a, b in zip(made, found, strict=True):
        assert_equal(vars(b.evidence), vars(a.evidence))
        own = {"evidence": None}
        assert_equal(vars(b) | own, vars(a) | own)
        assert b.words.dtype == np.int64
    dev = [i.id for i in made if i.split == "dev"]
    assert [i.id for i in tables.read_instances(path, "dev")] == dev
    assert [i.id for i in tables.read_instances(path, "dev", 1)] == dev[:1]
    before = path.read_bytes()
    tables.write_instances(path, found, {"labels": ["a", "b"], "task": "é"})
    assert path.read_bytes() == before  # the same records are the same bytes


@st.composite
def attributions(draw):
    made = []
    maybe = st.one_of(number, st.just(np.nan))
    feature = st.lists(small, min_size=1, max_size=3).map(tuple)
    for i in range(draw(st.integers(0, 4))):
        features = draw(st.lists(feature, max_size=5).map(tuple))
        scores = draw(st.lists(number, min_size=len(features), max_size=len(features)))
        costs = draw(st.lists(st.integers(0, 10**12), min_size=5, max_size=5))
        record = Attribution(
            f"i{i}",
            method=draw(st.text("aé", max_size=9)),
            target=draw(small),
            level=draw(st.sampled_from(["token", "pair", "span"])),
            features=features,
            scores=np.array(scores),
            gap=draw(maybe),
            cost=Cost(*costs),
            reliability=draw(maybe),
            special=draw(maybe),
            note=draw(st.sampled_from(["", "did not converge"])),
        )
        made.append(record)
    return made


@settings(max_examples=20)
@given(made=attributions(), more=attributions())
def test_attributions_come_back(tmp_path, made, more):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    tables.write_attributions(paths[0], made)
    tables.write_attributions(paths[1], more)
    found = tables.read_attributions(*paths)
    assert len(found) == len(made) + len(more)
    for a, b in zip(made + more, found, strict=True):
        assert_equal(vars(b), vars(a))


def test_attributions_of_earlier_versions_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    made = Attribution("i", "lime", 0, "token", ((1,),), np.ones(1), 0.5)
    later = {"reliability": 0.9, "special": 0.5, "note": "did not converge"}
    tables.write_attributions(path, [replace(made, **later)])
    pq.write_table(pq.read_table(path).drop_columns(list(later)), path)
    assert_equal(vars(tables.read_attributions(path)[0]), vars(made))


@settings(max_examples=20)
@given(values=st.lists(number, min_size=1, max_size=9))
def test_csv_floats_read_back_to_the_same(tmp_path, values):
    path = tmp_path / "t.csv"
    tables.write_csv(path, pd.DataFrame({"x": values, "name": 'a,"b"\nc'}))
    back = pd.read_csv(path)
    np.testing.assert_array_equal(back.x, values)
    assert (back.name == 'a,"b"\nc').all() and b"\r" not in path.read_bytes()


def test_a_file_is_replaced_only_when_the_block_ends_well(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    reader = path.open()
    with tables.write_whole(path) as part:
        part.write_text("new")
        assert path.read_text() == "old" and part.parent == path.parent and part.suffix == ".csv"
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["t.csv"]
    assert reader.read() == "old"  # renamed over, not written into
    reader.close()


def test_json_is_sorted_and_readable(tmp_path):
    path = tmp_path / "deep" / "x.json"
    tables.write_json(path, {"b": "ü", "a": 1})
    assert path.read_text(encoding="utf-8") == '{\n "a": 1,\n "b": "ü"\n}\n'


def test_a_block_that_raises_or_writes_nothing_leaves_nothing_behind(tmp_path):
    path = tmp_path / "t.csv"
    for before in ([], ["t.csv"]):
        for name in before:
            (tmp_path / name).write_text("old")
        with pytest.raises(KeyboardInterrupt), tables.write_whole(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt
        with pytest.raises(FileNotFoundError), tables.write_whole(path):
            pass
        assert os.listdir(tmp_path) == before
    assert path.read_text() == "old"


DYING = """
import os, sys
from pathlib import Path
from attreval.core.tables import write_whole
with write_whole(Path(sys.argv[1])) as part:
    part.write_text('{"half": ')
    os._exit(9)
"""


def test_tokens_come_back_as_they_were_from_one_table_or_several(tmp_path):
    paths = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for model in (models.tiny_model(), tiny_words("gru")):
        tokens = {one.id: model.tokens(one) for one in models.sample_instances()}
        tokens["no mask"] = replace(tokens["s0"], mask_id=None, dropped=3)
        tables.write_tokens(paths[0], tokens)
        tables.write_tokens(paths[1], {"other": tokens["s1"]})
        found = tables.read_tokens(*paths)
        assert list(found) == [*tokens, "other"] and not list(tmp_path.glob(".*"))
        for name, one in tokens.items():
            for field, value in vars(replace(one, written=())).items():  # no table keeps texts
                back = getattr(found[name], field)
                assert type(back) is type(value) and np.array_equal(back, value), (name, field)


def test_a_killed_process_leaves_the_old_file_or_none(tmp_path):
    """What it was writing has a hidden name that nobody reads, and does not hinder the
    next write.
    """
    folder = project.Results(tmp_path)
    path = folder.steps / "x.json"
    for before in (None, {"step": "old", "files": []}):
        if before:
            tables.write_json(path, before)
        died = subprocess.run([sys.executable, "-c", DYING, str(path)], check=False)
        assert died.returncode == 9
        assert (json.loads(path.read_text()) if path.exists() else None) == before
        others = {name for name in os.listdir(folder.steps) if name != "x.json"}
        assert all(name.startswith(".") for name in others)
        # it reads the records, and must not stumble over a half one
        assert workflow.find_incomplete(folder, discard=True) == []
    tables.write_json(path, {"step": "new", "files": []})
    assert json.loads(path.read_text())["step"] == "new"
