"""Tables come back as they were written, and are there whole or not at all."""

import json
import os
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import case, models
from reference.models import instance
from reference.words import tiny_words

from attreval.core import tables
from attreval.core.records import Attribution, Cost, Evidence, Tokens
from compendium import project
from compendium.workflow import run_snakemake as workflow

number = st.floats(allow_nan=False, allow_infinity=False)
small = st.integers(0, 5)


@st.composite
def instances(draw):
    made = []
    for i in range(draw(st.integers(0, 4))):
        segments = draw(
            st.lists(st.text("ab é\n\N{GRINNING FACE}", max_size=30), min_size=1, max_size=2)
        )
        words = len(instance(*segments).words)
        annotators = draw(st.integers(0, 3)) if words else 0
        marks = (
            draw(arrays(float, (annotators, words), elements=number))
            if annotators
            else np.zeros((0, 0))
        )
        spans = draw(st.lists(st.tuples(small, small, small), max_size=3).map(tuple))
        links = draw(
            st.lists(
                st.tuples(small, small, small, small, st.text("aé", max_size=5)), max_size=3
            ).map(tuple)
        )
        more = {"label": draw(small), "split": draw(st.sampled_from(["", "dev", "test"]))}
        made.append(
            instance(*segments, name=f"{i}", evidence=Evidence(marks, spans, links), **more)
        )
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
        assert (a.id, a.segments, a.label, a.split) == (b.id, b.segments, b.label, b.split)
        np.testing.assert_array_equal(a.words, b.words)
        np.testing.assert_array_equal(a.evidence.marks, b.evidence.marks)
        assert (
            a.evidence.spans == b.evidence.spans
            and a.evidence.interactions == b.evidence.interactions
        )
        assert a.evidence.marks.shape == b.evidence.marks.shape and b.words.dtype == np.int64
    dev = [i.id for i in made if i.split == "dev"]
    assert [i.id for i in tables.read_instances(path, "dev")] == dev
    assert [i.id for i in tables.read_instances(path, "dev", 1)] == dev[:1]
    before = path.read_bytes()
    tables.write_instances(path, found, {"labels": ["a", "b"], "task": "é"})
    assert path.read_bytes() == before  # the same records are the same bytes


@st.composite
def attributions(draw):
    made = []
    for i in range(draw(st.integers(0, 4))):
        features = draw(
            st.lists(st.lists(small, min_size=1, max_size=3).map(tuple), max_size=5).map(tuple)
        )
        scores = np.array(draw(st.lists(number, min_size=len(features), max_size=len(features))))
        gap, share, special = (draw(st.one_of(number, st.just(np.nan))) for _ in range(3))
        cost = Cost(*draw(st.lists(st.integers(0, 10**12), min_size=5, max_size=5)))
        level = draw(st.sampled_from(["token", "pair", "span"]))
        method = draw(st.text("aé", max_size=9))
        target = draw(small)
        note = draw(st.sampled_from(["", "did not converge"]))
        made.append(
            Attribution(
                f"i{i}", method, target, level, features, scores, gap, cost, share, special, note
            )
        )
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
        np.testing.assert_equal(vars(b), vars(a))


def test_attributions_of_earlier_versions_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    made = Attribution("i", "lime", 0, "token", ((1,),), np.ones(1), 0.5)
    tables.write_attributions(
        path, [replace(made, reliability=0.9, special=0.5, note="did not converge")]
    )
    pq.write_table(pq.read_table(path).drop_columns(["reliability", "special", "note"]), path)
    np.testing.assert_equal(vars(tables.read_attributions(path)[0]), vars(made))


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
    tables.write_json(tmp_path / "deep" / "x.json", {"b": "ü", "a": 1})
    assert (tmp_path / "deep" / "x.json").read_text(
        encoding="utf-8"
    ) == '{\n "a": 1,\n "b": "ü"\n}\n'


def test_a_block_that_raises_or_writes_nothing_leaves_nothing_behind(tmp_path):
    for before in [None, "old"]:
        for error in [KeyboardInterrupt, FileNotFoundError]:
            with case(before, error):
                path = tmp_path / "t.csv"
                if before:
                    path.write_text(before)
                with pytest.raises(error), tables.write_whole(path) as part:
                    if error is KeyboardInterrupt:
                        part.write_text("half")
                        raise KeyboardInterrupt
                assert os.listdir(tmp_path) == (["t.csv"] if before else [])
                assert not before or path.read_text() == before


DYING = """
import os, sys
from attreval.core.tables import write_whole
with write_whole(sys.argv[1]) as part:
    part.write_text('{"half": ')
    os._exit(9)
"""


def test_tokens_come_back_as_they_were_from_one_table_or_several(tmp_path):
    for make in [models.tiny_model, lambda: tiny_words("gru")]:
        with case(make):
            model = make()
            texts = models.sample_instances()
            tokens = {i.id: model.tokens(i) for i in texts}
            tokens["no mask"] = replace(next(iter(tokens.values())), mask_id=None, dropped=3)
            first = tmp_path / "first.parquet"
            second = tmp_path / "second.parquet"
            tables.write_tokens(first, tokens)
            found = tables.read_tokens(first)
            assert list(found) == list(tokens)
            for name, one in tokens.items():
                pairs = [
                    (getattr(one, f.name), getattr(found[name], f.name)) for f in fields(Tokens)
                ]
                assert all(type(a) is type(b) and np.array_equal(a, b) for a, b in pairs)
            tables.write_tokens(second, {"other": one})
            assert list(tables.read_tokens(first, second)) == [*tokens, "other"] and not list(
                tmp_path.glob(".*")
            )


def test_a_killed_process_leaves_the_old_file_or_none(tmp_path):
    """What it was writing has a hidden name that nobody reads, and does not hinder the
    next write.
    """
    for before in [None, {"step": "old", "files": []}]:
        with case(before):
            folder = project.Results(tmp_path)
            path = folder.steps / "x.json"
            if before:
                tables.write_json(path, before)
            died = subprocess.run([sys.executable, "-c", DYING, str(path)], check=False)
            assert died.returncode == 9
            assert (json.loads(path.read_text()) if path.exists() else None) == before
            assert all(
                name.startswith(".") for name in os.listdir(folder.steps) if name != "x.json"
            )
            # it reads the records, and must not stumble over a half one
            assert workflow.find_incomplete(folder, discard=True) == []
            tables.write_json(path, {"step": "new", "files": []})
            assert json.loads(path.read_text())["step"] == "new"
