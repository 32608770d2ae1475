"""`attreval evaluate` on planted models of four shapes and files of four: the planted best method
is named.
"""

from __future__ import annotations

import errno
import html
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import planted_texts
from reference.planted_texts import LABELS, train_planted, write_given, write_texts
from typer.testing import CliRunner

import attreval as av
from attreval.cli import app
from attreval.evaluation import judged, page, run
from attreval.evaluation.texts import make_documents, read_given, read_rows, with_scores
from attreval.methods import METHODS
from attreval.texts.data import Columns

QUICK = ["gradient_x_input", "occlusion_1"]
COLUMNS = {"text": "review", "label": "stars"}


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return train_planted("roberta", tmp_path_factory.mktemp("own") / "roberta")


CASES = {  # architecture -> file, columns, whether scores made elsewhere are given
    "roberta": ("reviews.csv", {"rationale": "why"}, True),
    "bart": ("reviews.tsv", {"pair": "review", "text": "before"}, True),
    "gpt2": ("reviews.jsonl", {"rationale": "spans"}, True),
    "modernbert": ("reviews.parquet", {}, False),
}


@pytest.mark.parametrize("kind", CASES)
def test_the_planted_best_is_named_for_models_and_files_of_any_shape(kind, tmp_path, request):
    name, more, given = CASES[kind]
    pairs = "pair" in more
    if kind == "roberta":
        model = request.getfixturevalue("roberta")
    else:
        model = train_planted(kind, tmp_path / kind, pairs)
    texts = write_texts(tmp_path / name, 200)
    out = tmp_path / "report"
    best = "planted words" if given else "occlusion_1"
    methods = ["last"] if given else ["last", "occlusion_1"]  # no rival: it reads nothing
    options = {"model": model, "data": tmp_path / name, "out": out, "texts": 30}
    options |= COLUMNS | more | {"methods": ",".join(methods)}
    if given:
        options["attributions"] = write_given(tmp_path / "theirs.jsonl", texts, pairs)
    words = [word for option, value in options.items() for word in (f"--{option}", str(value))]
    done = CliRunner().invoke(app, ["evaluate", *words])
    assert done.exit_code == 0, done.output
    for said in (
        "explaining and judging 30 texts: about",
        f"report: {out / 'report.html'}",
        "Judges count by how well",
        "taken not to matter",
    ):
        assert said in done.stdout
    choice = pd.read_csv(out / "methods.csv")
    assert choice.recommended[0] and choice[choice.leading].method.tolist() == [best]
    assert ("people" in choice) == ("rationale" in more) and ("pointing" in choice) == (not given)
    shown = (out / "report.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub("<[^>]+>", " ", shown))
    assert f"Use {best if given else METHODS[best].title}." in text
    assert 'src="http' not in shown and LABELS[0] in text and "right on 100.0%" in text
    values = pd.read_csv(out / "values.csv")
    assert set(values.method) == set(choice.method)
    assert values.text.nunique() == (30 if given else 36)
    assert len(pd.read_parquet(out / "scores.parquet")) == 30 * (len(choice) - 1)
    assert "<table>" in (out / "texts.html").read_text(encoding="utf-8")
    assert json.loads((out / "settings.json").read_text())["methods"] == methods


def test_a_network_that_has_not_learned_the_planted_rule_is_no_ground_for_a_test(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(planted_texts, "MOST_STEPS", 20)
    with pytest.raises(RuntimeError, match=r"after 20 steps a probability is .* off the rule"):
        train_planted("roberta", tmp_path)


def ask(roberta, tmp_path, **more):
    if not (tmp_path / "reviews.csv").exists():
        write_texts(tmp_path / "reviews.csv", 60)
    given = {"model": roberta, "data": tmp_path / "reviews.csv", "methods": QUICK, **COLUMNS} | more
    return av.evaluate_texts(**given)


def test_later_samples_ask_about_new_texts_alone_and_the_next_call_about_none(
    roberta, tmp_path, monkeypatch
):
    asked = []
    explain = judged.explain

    def counted(model, texts, *more, **named):
        asked.extend(texts)
        return explain(model, texts, *more, **named)

    monkeypatch.setattr(judged, "explain", counted)
    monkeypatch.setattr(run, "FIRST", 6)
    kept = {"out": tmp_path / "report", "texts": 16}
    first = ask(roberta, tmp_path, **kept)
    of_all = 16 + len(first.documents)
    assert len(first.judged) == 16 and not first.settled  # fewer than thirty texts
    assert {one.explanation.instance.label for one in first.judged} == {0, 1}, "rows keep labels"
    assert len(asked) == of_all == len(set(asked))
    again = ask(roberta, tmp_path, **kept)
    assert len(asked) == of_all
    pd.testing.assert_frame_equal(again.choice, first.choice, check_exact=True)
    pd.testing.assert_frame_equal(again.values, first.values, check_exact=True)
    for one, other in zip(again.explanations, first.explanations, strict=True):
        for fact in ("words", "probabilities", "gaps"):
            assert getattr(one, fact) == getattr(other, fact)
    memory = ask(roberta, tmp_path, data=pd.read_csv(tmp_path / "reviews.csv"), texts=16)
    pd.testing.assert_frame_equal(memory.values, first.values, atol=1e-4)
    assert len(asked) == 2 * of_all
    ask(roberta, tmp_path, **kept, methods=QUICK[:1])
    assert len(asked) == 3 * of_all  # other methods are another question


def test_an_interrupted_call_goes_on_where_it_was(roberta, tmp_path, monkeypatch):
    asked = []
    explain = judged.explain

    def interrupted(model, texts, *more, **named):
        asked.append(len(texts))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return explain(model, texts, *more, **named)

    monkeypatch.setattr(judged, "explain", interrupted)
    out = tmp_path / "report"
    with pytest.raises(KeyboardInterrupt):
        ask(roberta, tmp_path, out=out, texts=12)
    assert not (out / "report.html").exists()
    ask(roberta, tmp_path, out=out, texts=12)
    assert asked[:4] == [8, 2, 2, 4] and (out / "report.html").exists()


def test_a_full_disk_leaves_the_report_that_was_there(roberta, tmp_path, monkeypatch):
    out = tmp_path / "report"
    found = ask(roberta, tmp_path, out=out, texts=5)
    before = (out / "report.html").read_bytes()

    def full(path, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        page.write_report(found, out)
    assert (out / "report.html").read_bytes() == before and not [*out.glob(".*")]


def test_numbered_classes_take_the_given_names(tmp_path):
    model = train_planted(
        "roberta", tmp_path / "roberta", labels=("LABEL_0", "LABEL_1"), learned=False
    )
    found = ask(model, tmp_path, classes=LABELS, texts=5)
    assert found.labels == LABELS and {one.predicted for one in found.explanations} <= set(LABELS)
    with pytest.raises(ValueError, match="2 classes"):
        ask(model, tmp_path, classes=["a", "b", "c"])


def test_a_folder_with_files_of_somebody_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "open_model", lambda *_: pytest.fail("the model was opened"))
    (tmp_path / "out" / "tables").mkdir(parents=True)
    (tmp_path / "file").write_text("mine")
    for name, said in {"out": "holds tables", "file": "is a file"}.items():
        with pytest.raises(ValueError, match=said):
            av.evaluate_texts("m", tmp_path / "x.csv", tmp_path / name)
    page.check_report_folder(tmp_path / "new")


def test_a_folder_is_written_by_one_call_at_a_time(tmp_path):
    out = tmp_path / "report"
    with page.hold_folder(out, {"methods": ["lime"]}):
        page.check_report_folder(out)
        with (
            pytest.raises(ValueError, match="another call writes"),
            page.hold_folder(out, {"methods": ["lrp"]}),
        ):
            pytest.fail("two calls wrote into one folder")
    assert json.loads((out / "settings.json").read_text()) == {"methods": ["lime"]}
    with page.hold_folder(out, {"methods": ["lrp"]}):
        assert "lrp" in (out / "settings.json").read_text()


GROWTH = {  # texts that settle the choice, seconds of each, texts that are said to be needed
    (80, 0, 0): [40, 80],  # settled
    (999, 3, 0): [40, 80],  # out of time
    (999, 0, 0): [40, 80, 160],  # out of texts
    (999, 0, 310): [40, 160],  # eighty would not do
    (999, 0, 400): [40],  # nor would all
    (999, 12, 0): [24],  # the first sample is cut: 8 texts took 96 of 360 seconds
}


def test_samples_grow_until_one_settles_the_choice_and_none_begins_that_could_not(monkeypatch):
    for texts, sizes in {20: [20], 60: [50, 60], 500: [50, 100, 200, 500]}.items():
        assert run.sample_sizes(texts) == sizes
    monkeypatch.setattr(run, "FIRST", 40)
    for (settled, seconds, needed), samples in GROWTH.items():
        clock = [0.0]
        asked = [0]
        said = []

        class Texts(SimpleNamespace):
            rows = range(160)

            def count_missing(self, size, asked=asked):
                return size - asked[-1]

            def judge_first(self, size, seconds=seconds, asked=asked, clock=clock):
                clock[0] += seconds * (size - asked[-1])
                asked.append(size)
                return [SimpleNamespace(seconds=seconds)] * size, []

        def conclude(judged, documents, rows, facts, settled=settled, needed=needed):
            return SimpleNamespace(settled=len(rows) >= settled, needed=needed)

        monkeypatch.setattr(run, "conclude", conclude)
        monkeypatch.setattr(run.time, "monotonic", lambda clock=clock: clock[0])
        facts = {"seconds": {"lime": 1.0, "lrp": 0.5}}
        run._grow(Texts(judge=SimpleNamespace(say=said.append)), facts, 360, None)
        assert asked[2:] == samples  # the first eight texts tell how long others take
        assert said[0] == "explaining and judging the first 8 texts: about 12 s"
        if seconds == 12:
            assert "40 texts would take longer than --minutes: 24 are judged" in said
        if seconds == 3:  # four minutes so far, and four more
            assert "160 would take 4 min more, which is beyond --minutes" in said[-2]
            assert "40 texts: about 2 min; all 160 would take about 8 min" in "".join(said)
        if needed == 400:
            assert "about 400 would be needed, and there are 160" in said[-2]


def test_methods_are_those_that_apply():
    assert "attention" in run._pick_methods(None, "transformer")
    assert "attention" not in run._pick_methods(None, "recurrent")
    assert run._pick_methods(["random", "lime", "lime"], "transformer") == ("lime",)
    pair = next(name for name, method in METHODS.items() if method.level == "pair")
    with pytest.raises(ValueError, match="scores of tokens"):
        run._pick_methods([pair], "transformer")


def test_what_cannot_be_used_is_said_before_anything_is_explained(roberta, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "explain", lambda *_, **__: pytest.fail("explained"))
    monkeypatch.chdir(tmp_path)
    for change, said in (
        ({"methods": ["lmie"]}, "did you mean 'lime'"),
        ({"texts": 1}, "two texts or more"),
        ({"text": "reviw"}, "did you mean 'review'"),
        ({"classes": ["x", "y"]}, "names its classes dull, fine"),
        ({"attributions": ["none.jsonl"]}, "no file"),
        ({"data": "none.csv"}, "none.csv"),
        ({"data": {"review": ["a", "b"]}}, "no column 'stars'"),
        ({"model": "robeta"}, "robeta"),
    ):
        with pytest.raises((ValueError, OSError), match=said):
            ask(roberta, tmp_path, out=tmp_path / "out", **change)
        assert not (tmp_path / "out").exists()


def test_texts_that_nobody_explained_elsewhere_are_left_out_and_counted(roberta, tmp_path):
    texts = write_texts(tmp_path / "reviews.csv", 10)
    model = av.load(roberta)
    given = read_given([write_given(tmp_path / "theirs.jsonl", texts[:6])], model.labels)
    columns = Columns("review", "stars", rationale="why")
    rows, dropped = read_rows(tmp_path / "reviews.csv", columns, model.labels)
    kept, left_out = with_scores(rows, given, model)
    assert {row.segments[0] for row in kept} == {" ".join(words) for words, _, _ in texts[:6]}
    assert not dropped and all(row.evidence for row in kept)
    assert left_out == {"planted words has no scores": 10 - len(kept)}
    with pytest.raises(ValueError, match="no text is explained"):
        with_scores([row for row in rows if row not in kept], given, model)


def test_why_a_text_is_left_out_is_not_read_off_its_words(tiny, tmp_path):
    """A text about "the class" that nobody has scored is not one of which another class was
    explained.
    """
    table = {"text": ["I loved the class", "a film", "a plot"], "label": ["no", "no", "yes"]}
    rows, _ = read_rows(table, Columns(), tiny.labels)
    predicted = av.explain(tiny, table["text"], "random").predicted
    others = [next(label for label in tiny.labels if label != one) for one in predicted]
    line = {"method": "theirs", "tokens": ["a"], "scores": [1.0]}
    film = line | {"text": "a film", "target": predicted[1]}
    plot = line | {"text": "a plot", "target": others[2]}
    (tmp_path / "theirs.jsonl").write_text(f"{json.dumps(film)}\n{json.dumps(plot)}\n")
    kept, left_out = with_scores(rows, read_given([tmp_path / "theirs.jsonl"], tiny.labels), tiny)
    assert [row.segments for row in kept] == [("a film",)]
    assert left_out == {"theirs has no scores": 1, "theirs explains another class": 1}


def test_documents_point_at_sentences_of_the_predicted_class(roberta, tmp_path):
    texts = ["A film. It was good!", "A plot was bad.", "Is it good? The film is.", "Bad. Bad."]
    found = ask(roberta, tmp_path, data={"review": texts, "stars": ["fine", "dull"] * 2})
    assert "pointing" in found.choice
    only = found.documents[0]
    assert {"A film.", "It was good!"} & {*re.split(r"(?<=[.?!]) ", only.explanation.text)}
    assert set(only.values) == {"pointing"} and "pointing" not in found.judged[0].values
    assert all(0 <= value <= 1 or np.isnan(value) for value in only.values["pointing"].values())


def test_a_seed_draws_other_texts_first_and_mixes_other_documents():
    texts = [f"A {k} film. It was {k} long." for k in "bcdefghijklm"]
    data = {"text": texts, "label": ["good", "bad"] * 6}

    def draw(*seed):
        rows, _ = read_rows(data, Columns(), ("good", "bad"), *seed)
        return [row.segments for row in rows], make_documents(rows, *seed)

    assert draw() == draw(0)
    texts, documents = draw(1)
    others, other_documents = draw(2)
    assert texts != others and sorted(texts) == sorted(others) and documents != other_documents


def test_texts_that_occur_again_are_one_and_that_is_said(roberta, tmp_path):
    write_texts(tmp_path / "reviews.csv", 5)
    table = pd.read_csv(tmp_path / "reviews.csv")[["review", "stars"]]
    turned = table.head(2).replace({"stars": {"dull": "fine", "fine": "dull"}})
    again = pd.concat([table] * 20 + [turned], ignore_index=True)
    found = ask(roberta, tmp_path, data=again, texts=50)
    assert found.size == len(found.judged) == 5 and not found.settled
    again = "the same text again"
    assert sum(found.dropped.values()) == 97
    assert set(found.dropped) == {again, f"{again} under another label"}
    assert any(again in line for line in page.limits(found))
