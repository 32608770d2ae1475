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
from attreval.evaluation.judged import make_documents, read_given, read_rows, with_scores
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
    model = (
        request.getfixturevalue("roberta")
        if kind == "roberta"
        else train_planted(kind, tmp_path / kind, pairs)
    )
    texts = write_texts(tmp_path / name, 200)
    out = tmp_path / "report"
    words = [
        "evaluate",
        "--model",
        str(model),
        "--data",
        str(tmp_path / name),
        "--out",
        str(out),
        "--texts",
        "30",
    ]
    words += [x for option, column in (COLUMNS | more).items() for x in (f"--{option}", column)]
    best = "planted words" if given else "occlusion_1"
    methods = (
        ["last"] if given else ["last", "occlusion_1"]
    )  # no rival can be as good: `last` reads nothing
    words += ["--methods", ",".join(methods)]
    words += (
        ["--attributions", str(write_given(tmp_path / "theirs.jsonl", texts, pairs))]
        if given
        else []
    )
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert (
        "explaining and judging 30 texts: about" in done.stdout
        and f"report: {out / 'report.html'}" in done.stdout
    )
    choice = pd.read_csv(out / "methods.csv")
    assert "Judges count by how well" in done.stdout and "taken not to matter" in done.stdout
    assert choice.method[0] == best and choice.recommended[0]
    assert choice[choice.leading].method.tolist() == [best]
    assert ("people" in choice) == ("rationale" in more) and ("pointing" in choice) == (not given)
    shown = (out / "report.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub("<[^>]+>", " ", shown))
    assert f"Use {best if given else METHODS[best].title}." in text
    assert 'src="http' not in shown and LABELS[0] in text and "right on 100.0%" in text
    values = pd.read_csv(out / "values.csv")
    assert set(values.method) == set(choice.method) and values.text.nunique() == 30 + (
        0 if given else 6
    )
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
    first = ask(roberta, tmp_path, out=tmp_path / "report", texts=16)
    assert len(first.judged) == 16 and not first.settled  # fewer than thirty texts
    assert len(asked) == 16 + len(first.documents) == len(set(asked))
    again = ask(roberta, tmp_path, out=tmp_path / "report", texts=16)
    assert len(asked) == 16 + len(first.documents)
    pd.testing.assert_frame_equal(again.choice, first.choice, check_exact=True)
    pd.testing.assert_frame_equal(again.values, first.values, check_exact=True)
    for one, other in zip(again.explanations, first.explanations, strict=True):
        assert (
            one.words == other.words
            and one.probabilities == other.probabilities
            and one.gaps == other.gaps
        )
    memory = ask(roberta, tmp_path, data=pd.read_csv(tmp_path / "reviews.csv"), texts=16)
    pd.testing.assert_frame_equal(memory.values, first.values, atol=1e-4)
    assert len(asked) == 2 * (16 + len(first.documents))
    ask(roberta, tmp_path, out=tmp_path / "report", texts=16, methods=QUICK[:1])
    assert len(asked) == 3 * (16 + len(first.documents))  # other methods are another question


def test_an_interrupted_call_goes_on_where_it_was(roberta, tmp_path, monkeypatch):
    asked = []
    explain = judged.explain

    def interrupted(model, texts, *more, **named):
        asked.append(len(texts))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return explain(model, texts, *more, **named)

    monkeypatch.setattr(judged, "explain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(roberta, tmp_path, out=tmp_path / "report", texts=12)
    assert not (tmp_path / "report" / "report.html").exists()
    ask(roberta, tmp_path, out=tmp_path / "report", texts=12)
    assert asked[:4] == [8, 2, 2, 4] and (tmp_path / "report" / "report.html").exists()


def test_a_full_disk_leaves_the_report_that_was_there(roberta, tmp_path, monkeypatch):
    found = ask(roberta, tmp_path, out=tmp_path / "report", texts=5)
    before = (tmp_path / "report" / "report.html").read_bytes()

    def full(path, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        page.write_report(found, tmp_path / "report")
    assert (tmp_path / "report" / "report.html").read_bytes() == before
    assert not [path for path in (tmp_path / "report").iterdir() if path.name.startswith(".")]


def test_numbered_classes_take_the_given_names(tmp_path):
    model = train_planted(
        "roberta", tmp_path / "roberta", labels=("LABEL_0", "LABEL_1"), learned=False
    )
    found = ask(model, tmp_path, classes=LABELS, texts=5)
    assert found.labels == LABELS and {one.predicted for one in found.explanations} <= set(LABELS)
    with pytest.raises(ValueError, match="has 2 classes, `labels` has 3"):
        ask(model, tmp_path, classes=["a", "b", "c"])


def test_a_folder_with_files_of_somebody_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_open", lambda *_: pytest.fail("the model was opened"))
    (tmp_path / "out" / "tables").mkdir(parents=True)
    (tmp_path / "out" / "tables" / "thesis.csv").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, said in (
        ("out", "holds tables, and is no folder of a report"),
        ("file", "is a file"),
    ):
        with pytest.raises(ValueError, match=said):
            av.evaluate_texts("m", tmp_path / "x.csv", tmp_path / name)
    run.check_folder(tmp_path / "new")


def test_a_folder_is_written_by_one_call_at_a_time(tmp_path):
    out = tmp_path / "report"
    with run.hold_folder(out, {"methods": ["lime"]}):
        run.check_folder(out)
        with (
            pytest.raises(ValueError, match="another call writes"),
            run.hold_folder(out, {"methods": ["lrp"]}),
        ):
            pytest.fail("two calls wrote into one folder")
    assert json.loads((out / "settings.json").read_text()) == {"methods": ["lime"]}
    with run.hold_folder(out, {"methods": ["lrp"]}):
        assert "lrp" in (out / "settings.json").read_text()


@pytest.mark.parametrize(
    ("texts", "sizes"), [(20, [20]), (60, [50, 60]), (500, [50, 100, 200, 500])]
)
def test_samples_grow_until_they_are_all(texts, sizes):
    assert run.sample_sizes(texts) == sizes


@pytest.mark.parametrize(
    ("settled", "seconds", "needed", "samples"),
    [
        (80, 0, 0, [40, 80]),  # settled
        (999, 3, 0, [40, 80]),  # out of time
        (999, 0, 0, [40, 80, 160]),  # out of texts
        (999, 0, 310, [40, 160]),  # eighty would not do
        (999, 0, 400, [40]),  # nor would all
    ],
)
def test_samples_grow_until_one_settles_the_choice_and_none_begins_that_could_not(
    settled, seconds, needed, samples, roberta, tmp_path, monkeypatch
):
    write_texts(tmp_path / "reviews.csv", 160)
    clock = [0.0]
    asked = [0]
    said = []

    def judge_sample(source, size):
        clock[0] += seconds * (size - asked[-1])
        asked.append(size)
        return run.Sample([SimpleNamespace(seconds=seconds)] * size, [])

    monkeypatch.setattr(run, "FIRST", 40)
    monkeypatch.setattr(run, "_judge_sample", judge_sample)
    monkeypatch.setattr(run, "find_missing", lambda question, texts: ([], texts[asked[-1] :]))
    monkeypatch.setattr(
        run,
        "conclude",
        lambda _, __, rows, ___: SimpleNamespace(settled=len(rows) >= settled, needed=needed),
    )
    monkeypatch.setattr(run.time, "monotonic", lambda: clock[0])
    ask(roberta, tmp_path, minutes=6, say=said.append)
    assert asked[2:] == samples  # the first eight texts tell how long others take
    if seconds:  # four minutes so far, and four more
        assert "160 would take 4 min more, which is beyond --minutes" in said[-2]
        assert "40 texts: about 2 min; all 160 would take about 8 min" in "".join(said)
    if needed == 400:
        assert "about 400 would be needed, and there are 160" in said[-2]


def test_methods_are_those_that_apply():
    attending = [
        "attention" in run._pick_methods(None, family) for family in ("transformer", "recurrent")
    ]
    assert attending == [True, False]
    assert run._pick_methods(["random", "lime", "lime"], "transformer") == ("lime",)
    with pytest.raises(ValueError, match="scores of tokens"):
        run._pick_methods(
            [next(name for name, method in METHODS.items() if method.level == "pair")],
            "transformer",
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["lmie"]}, "did you mean 'lime'"),
        ({"texts": 1}, "two texts or more"),
        ({"text": "reviw"}, "did you mean 'review'"),
        ({"classes": ["x", "y"]}, "names its classes dull, fine"),
        ({"attributions": ["none.jsonl"]}, "no file"),
        ({"data": "none.csv"}, "none.csv"),
        ({"data": {"review": ["a", "b"]}}, "no column 'stars'"),
        ({"model": "robeta"}, "robeta"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_explained(
    roberta, tmp_path, change, message, monkeypatch
):
    monkeypatch.setattr(run, "explain", lambda *_, **__: pytest.fail("explained"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, OSError), match=re.escape(message)):
        ask(roberta, tmp_path, out=tmp_path / "out", **change)
    assert not (tmp_path / "out").exists()


def test_texts_that_nobody_explained_elsewhere_are_left_out_and_counted(roberta, tmp_path):
    texts = write_texts(tmp_path / "reviews.csv", 10)
    model = av.load(roberta)
    given = read_given([write_given(tmp_path / "theirs.jsonl", texts[:6])], model.labels)
    rows, dropped = read_rows(
        tmp_path / "reviews.csv", Columns("review", "stars", rationale="why"), model.labels
    )
    kept, left_out = with_scores(rows, given, model)
    assert {row.segments[0] for row in kept} == {
        " ".join(words) for words, _, _ in texts[:6]
    } and not dropped
    assert all(row.evidence for row in kept)
    assert left_out == {"planted words has no scores": 10 - len(kept)}
    with pytest.raises(ValueError, match="no text is explained by planted words"):
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
    lines = [
        line | {"text": "a film", "target": predicted[1]},
        line | {"text": "a plot", "target": others[2]},
    ]
    (tmp_path / "theirs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    kept, left_out = with_scores(rows, read_given([tmp_path / "theirs.jsonl"], tiny.labels), tiny)
    assert [row.segments for row in kept] == [("a film",)]
    assert left_out == {"theirs has no scores": 1, "theirs explains another class": 1}


def test_documents_point_at_sentences_of_the_predicted_class(roberta, tmp_path):
    table = {
        "review": [
            "A film. It was good!",
            "A plot was bad.",
            "Is it good? The film is.",
            "Bad. Bad.",
        ]
    }
    found = ask(roberta, tmp_path, data=table | {"stars": ["fine", "dull"] * 2})
    assert "pointing" in found.choice
    (only,) = found.documents[:1]
    assert {"A film.", "It was good!"} & {
        part for part in re.split(r"(?<=[.?!]) ", only.explanation.text)
    }
    assert set(only.values) == {"pointing"} and "pointing" not in found.judged[0].values
    assert all(0 <= value <= 1 or np.isnan(value) for value in only.values["pointing"].values())


def test_a_seed_draws_other_texts_first_and_mixes_other_documents():
    data = {
        "text": [f"A {k} film. It was {k} long." for k in "bcdefghijklm"],
        "label": ["good", "bad"] * 6,
    }

    def draw(*seed: int) -> tuple[list, list]:
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
    assert sum(found.dropped.values()) == 97 and set(found.dropped) == {
        "the same text again",
        "the same text again under another label",
    }
    assert any("the same text again" in line for line in page.limits(found))
