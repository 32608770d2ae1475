"""The command `attreval trial`: a metric's file, attributions made elsewhere, exported texts, and
errors that help.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from attreval.cli import app
from attreval.trial import load_world
from attreval.trial.exchange import read_metrics, read_theirs
from attreval.trial.run import closeness_table, headline, run_trial

MINE = '''
import numpy as np
from attreval.metrics.metric import metric
from attreval.metrics.erasure import nc
from attreval.models.questions import Evaluate, softmax


@metric("Drop of the <top> word", judge="", source="ours", needs=("scores", "model"), higher_is_better=True)
def my_drop(text, method):
    """How far the probability falls when the highest word goes."""
    gone = text.tokens.ids.copy()
    gone[text.tokens.content[int(np.argmax(text.scores[method]))]] = text.tokens.mask_id
    p = softmax((yield Evaluate(np.stack([text.tokens.ids, gone]), text.tokens.segments)))[:, text.target]
    return p[0] - p[1]
'''  # noqa: E501
SEED = "11"


def ask(*words):
    done = CliRunner().invoke(app, ["trial", *map(str, words)])
    return done.output, done.exit_code


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "my_metric.py"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_a_metric_of_ones_own_is_tried_beside_others_and_nulls(mine, tmp_path):
    page = tmp_path / "page.html"
    words = f"--world one --world backdoor --texts 10 --metric nc --seed {SEED} --out".split()
    said, code = ask(mine, *words, page)
    assert code == 0 and f"--seed {SEED}" in said and "Condemned: Null: random number" in said
    assert "Drop of the <top> word: tells the truth (2 of 2 worlds)." in said
    html = page.read_text(encoding="utf-8")
    assert "Drop of the &lt;top&gt; word" in html and "<top>" not in html
    assert not re.search(r"(src|href)=.?http|<script", html), "the page needs nothing else"
    for title in (
        "Null: always one half",
        "LIME",
        "backdoor",
        "Use these, for this question",
        "obeys the trigger",
    ):
        assert title in html


def write_theirs(path, texts, change=()):
    """Attributions, the truth and noise, with a change of each."""
    rng = np.random.default_rng(0)
    rows = []
    for text in texts:
        for method, scores in (("mine", text.truth), ("noise", rng.random(len(text.truth)))):
            row = {"world": text.world, "seed": int(SEED), "id": text.id}
            row |= {"method": method, "scores": scores.tolist()}
            rows.append(row | dict(change))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_attributions_of_ones_own_stand_beside_those_of_methods(tmp_path):
    texts = [text for name in ("one", "backdoor") for text in load_world(name, int(SEED), 8).texts]
    path = write_theirs(tmp_path / "theirs.jsonl", texts)
    result = run_trial(metrics=["nc"], attributions=path, say=lambda line: None)
    assert result.trial.seed == int(SEED) and result.texts == 8
    assert result.worlds == ("one", "backdoor")
    close = closeness_table(result)
    assert (close["mine"] == 1).all() and (close["noise"] < 0.8).all() and "lime" in close
    places = result.standing.set_index(["metric", "explainer"]).place
    assert places["nc", "mine"] == pytest.approx(1, abs=0.1) and places["nc", "noise"] < 0.9
    assert any(line.startswith("mine: right on 100% of pairs") for line in headline(result))
    page = tmp_path / "page.html"
    said, code = ask("--attributions", path, "--metric", "nc", "--out", page)
    assert code == 0 and "noise: right on" in said
    assert "mine" in page.read_text(encoding="utf-8")


def test_exported_texts_are_those_of_the_trial(tmp_path):
    said, code = ask("--export", tmp_path, "--world", "interaction", "--texts", 8, "--seed", SEED)
    assert code == 0 and "texts.jsonl" in said
    lines = (tmp_path / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = load_world("interaction", int(SEED), 8).texts
    assert [row["id"] for row in rows] == [text.id for text in texts]
    row = rows[0]
    assert row.keys() == {"world", "seed", "id", "words", "part", "target"}
    assert row["words"] == texts[0].instance.word_texts() and row["target"] == "first"
    assert {*row["part"]} == {0, 1}


WRONG = [  # a change of a row -> what is said of it
    ({"world": "two"}, "unknown world 'two'"),
    ({"scores": [1.0]}, "words; got 1 scores"),
    ({"scores": ["a"]}, "`scores` is a list of numbers"),
    ({"scores": [float("nan")]}, "score 0 is no finite number"),
    ({"id": "one"}, "id 'one' is none of a text"),
    ({"id": "one 12 0"}, "no id is one of this world's texts"),
    ({"scores": None}, "no scores; it has: world, seed, id, method, scores"),
]


def test_attributions_that_do_not_fit_are_told(tmp_path):
    texts = load_world("one", int(SEED), 8).texts
    for change, said in WRONG:
        path = write_theirs(tmp_path / "theirs.jsonl", texts, change)
        told, code = ask("--attributions", path, "--metric", "nc", "--texts", 8)
        assert code == 1 and said in " ".join(told.split()), told


def test_other_errors_say_what_would_work(tmp_path, mine):
    path = write_theirs(tmp_path / "theirs.jsonl", load_world("one", int(SEED), 8).texts)
    with pytest.raises(ValueError, match="seed 11, and seed 3 was asked for; leave out --seed"):
        read_theirs(path, 3)
    for words, said in {
        (tmp_path / "none.py",): "a metric is given as a Python file, such as",
        ("--metric", "truth"): "unknown metric 'truth'; there are: all, pointing",
        ("--world", "two"): "unknown world 'two'; there are: one",
        ("--out", "page.pdf"): "a trial is kept as .html; got 'page.pdf'",
        ("--export", tmp_path, "--metric", "nc"): "--export only writes worlds",
        ("--attributions", tmp_path / "none.jsonl"): "attributions are jsonl with world, seed",
    }.items():
        told, code = ask(*words)
        assert code == 1 and said in " ".join(told.split()), told
    no_direction = MINE.replace("higher_is_better=True", "higher_is_better=None")
    for text, said in {
        "x = 1": "holds no function with @metric; it is written like this",
        "1 / 0": "cannot be run: ZeroDivisionError",
        no_direction: "has no direction; say higher_is_better",
        MINE.replace('"model")', '"agents")'): "needs agents, which no world offers; there are:",
    }.items():
        mine.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            read_metrics(mine)
    mine.write_text(MINE.replace("return p[0] - p[1]", "return p[7]"), encoding="utf-8")
    with pytest.raises(ValueError, match="metric 'my_drop' fails on 'one 11 0'"):
        run_trial(mine, ["nc"], ["one"], texts=8, seed=11, say=lambda line: None)


def test_a_seed_is_drawn_anew_and_the_same_seed_gives_the_same_verdict():
    said: list[str] = []
    runs = [run_trial(metrics=["nc"], worlds=["one"], texts=8, say=said.append) for _ in range(2)]
    seeds = [one.trial.seed for one in runs]
    assert seeds[0] != seeds[1]
    assert f"seed {seeds[0]}: the same worlds again with --seed {seeds[0]}" in said
    again = run_trial(metrics=["nc"], worlds=["one"], texts=8, seed=seeds[0], say=said.append)
    pd.testing.assert_frame_equal(again.matrix, runs[0].matrix)
