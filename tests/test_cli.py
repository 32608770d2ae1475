"""The command line: it lists what there is, says what is wrong in one line, and explains one's own
model.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT
from typer.testing import CliRunner

import attreval
from attreval.api.method_names import DEFAULT
from attreval.cli import app
from attreval.cli.own_model import ProgressLine
from attreval.evaluation import run
from attreval.methods import METHODS
from compendium import config, corpora
from compendium.catalogue import CATALOGUES
from compendium.papers.common.claims import read_claims, score
from compendium.papers.common.verdicts import Finding
from compendium.workflow.parameters import NOTEBOOKS
from compendium.workflow.run_notebook import MARK, say_line


@pytest.fixture(autouse=True)
def checkout(monkeypatch):
    """Commands run in this checkout."""
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))


def call(*words: str):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words))


def test_lists_name_everything_there_is():
    known = {
        "methods": METHODS,
        "corpora": corpora.TASKS,
        "profiles": config.profiles(),
        "notebooks": NOTEBOOKS,
    }
    for what, names in known.items():
        assert [row["name"] for row in json.loads(call("list", what, "--json").stdout)] == list(
            names
        )


@pytest.mark.parametrize(
    "what", ["methods", "metrics", "judges", "corpora", "models", "notebooks", "profiles"]
)
def test_lists_are_tables_for_people(what):
    done = call("list", what)
    rows = json.loads(call("list", what, "--json").stdout)
    assert (
        done.exit_code == 0
        and rows
        and all(row["name"].split()[0][:12] in done.stdout for row in rows)
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("list", "things"), "there are: methods, metrics"),
        (("run", "--profile", "quik"), "did you mean 'quick'?"),
        (("notebook", "03_explain", "-p", "sharrd=1"), "sharrd: unknown parameter"),
        (("notebook", "03_explain", "-p", "shard=one"), "shard: Input should be a valid integer"),
        (
            ("notebook", "03_explain", "-p", "task=yelp"),
            "profile 'quick' has no task 'yelp'; it has: snli",
        ),
        (("notebook", "03_explain", "-p", "shard"), "a parameter is given as name=value"),
        (("notebook", "99_none"), "unknown notebook '99_none'; there are: 01_data"),
        (("fetch", "--task", "nope"), "unknown task 'nope'; there are: snli"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, said):
    done = call(*words)
    assert done.exit_code == 1
    assert (
        said in done.stderr and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    )


def test_a_profile_without_results_is_not_rendered(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_RESULTS", str(tmp_path))
    done = call("render", "--profile", "paper")
    assert (
        done.exit_code == 1 and "has no results yet: `attreval run --profile paper`" in done.stderr
    )


def test_own_model_is_explained(folder):
    words = (
        "explain",
        "--model",
        str(folder),
        "--text",
        "the film was good .",
        "--samples",
        "50",
        "--json",
    )
    (found,) = json.loads(call(*words).stdout)
    assert 0 < found["probabilities"][found["predicted"]] <= 1 and found["dropped"] == []
    assert list(found["words"][0]["scores"]) == list(DEFAULT) and list(found["gaps"]) == [
        "integrated_gradients"
    ]
    assert json.loads(call(*words).stdout) == [found]


def test_several_texts_pairs_and_files_are_explained_at_once(folder, tmp_path):
    quick = ("explain", "--model", str(folder), "--methods", "LIME,occlusion", "--samples", "10")
    done = call(*quick, "--text", "good film", "--text", "not bad")
    assert done.exit_code == 0 and done.stdout.count("predicted") == 2
    assert "lime" in done.stdout and "occlusion_1" in done.stdout
    (pair,) = json.loads(call(*quick, "--text", "good film", "--pair", "not bad", "--json").stdout)
    assert pair["text"] == ["good film", "not bad"]
    (tmp_path / "x.csv").write_text("id,review\n1,good\n2,not bad\n", encoding="utf-8")
    asked = (
        "--text",
        "a film",
        "--file",
        str(tmp_path / "x.csv"),
        "--column",
        "review",
        "--unit",
        "token",
        "--json",
    )
    assert [one["text"] for one in json.loads(call(*quick, *asked).stdout)] == [
        "a film",
        "good",
        "not bad",
    ]
    two = (
        "--text",
        "good",
        "--method",
        "ig",
        "--method",
        "gradient x input",
        "--target",
        "no",
        "--against",
        "yes",
    )
    (one,) = json.loads(call("explain", "--model", str(folder), *two, "--json").stdout)
    assert (one["target"], one["against"]) == ("no", "yes")
    assert list(one["words"][0]["scores"]) == ["integrated_gradients", "gradient_x_input"]


def test_long_texts_go_by_sentences_and_pieces_and_words_are_counted_over_texts(folder, tmp_path):
    (tmp_path / "x.txt").write_text("\n".join(["A good film. Not bad. " * 30] * 2 + ["a film"]))
    table = tmp_path / "words.csv"
    asked = ("--file", str(tmp_path / "x.txt"), "--methods", "occlusion", "--unit", "sentence")
    words = ("explain", "--model", str(folder), *asked, "--window", "--words", str(table))
    done = call(*words, "--json")
    first, _, short = json.loads(done.stdout)
    assert len(first["words"]) == 60 and not first["dropped"] and len(first["pieces"]) > 3
    assert short["pieces"] == [] and str(table) in done.stderr
    assert table.read_text().startswith("class,method,word,texts")
    wrong = call(*words[:-1], "words.json")
    assert wrong.exit_code == 1 and "saved as .csv, .png, .svg" in wrong.stderr


@pytest.mark.parametrize("ending", ["html", "json", "png", "svg"])
def test_explanations_are_written_where_asked(folder, tmp_path, ending):
    out = tmp_path / f"page.{ending}"
    done = call(
        "explain",
        "--model",
        str(folder),
        "--text",
        "<b>good</b>",
        "--methods",
        "occlusion",
        "--out",
        str(out),
    )
    assert done.exit_code == 0 and done.stdout.strip() == str(out) and out.stat().st_size > 300


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--text", ""), "nothing to explain"),
        (("--text", "x", "--methods", "lime,limee"), "did you mean 'lime'"),
        (("--text", "x", "--out", "x.pdf"), "saved as .html"),
        (("--file", "nothing.csv"), "nothing.csv"),
    ],
)
def test_own_model_refuses_with_a_reason(folder, words, said):
    done = call("explain", "--model", str(folder), *words)
    assert done.exit_code == 1 and said in done.stderr and done.stderr.startswith("error: ")


def test_version_and_usage_name_the_program():
    assert call("--version").stdout.strip() == f"attreval {attreval.__version__}"
    usage = call("explain", "--help").stdout
    assert "Usage: attreval explain" in usage and "root" not in usage
    assert call("explain", "-h").stdout == usage and "--install-completion" in call("-h").stdout
    as_module = subprocess.run(
        [sys.executable, "-m", "attreval", "--version"], capture_output=True, text=True
    )
    assert as_module.stdout.strip() == f"attreval {attreval.__version__}"


def test_list_alone_says_what_can_be_listed():
    done = call("list")
    assert done.exit_code == 0 and all(name in done.stdout for name in CATALOGUES)
    metric = {row["name"]: row for row in json.loads(call("list", "metrics", "--json").stdout)}[
        "sufficiency"
    ]
    assert (metric["direction"], metric["range"]) == ("lower is better", "-1 to 1")
    assert metric["needs"] == ["scores", "model"] and metric["python"] == "evaluate"


def test_progress_is_said_now_and_then(monkeypatch, capsys):
    line = ProgressLine()
    line(0, 3, 10)
    monkeypatch.setattr(ProgressLine, "PAUSE", 0.0)
    line(2, 3, 70)
    line(3, 3, 90)
    said = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"2 of 3 texts explained, 70 model evaluations, about \d+ min left", said[0]
    )
    assert said[1] == "3 of 3 texts explained, 90 model evaluations"


def test_a_piped_table_has_a_line_a_row_without_spaces_behind_it(folder):
    lines = call("check", str(folder)).stdout.splitlines()
    assert any(line.startswith("methods that apply") for line in lines) and all(
        line == line.rstrip() for line in lines
    )


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (("--minutes", "-1"), 2, "greater than or equal to 0"),
        (("--cores", "-3"), 2, "greater than or equal to 1"),
        (("--methods", "random"), 1, "random scores are always compared"),
    ],
)
def test_an_evaluation_that_cannot_be_meant_is_refused_before_it_begins(
    more, status, said, monkeypatch
):
    monkeypatch.setattr(run, "evaluate_texts", lambda *_, **__: pytest.fail("begun"))
    done = call("evaluate", "--model", "m", "--data", "x.csv", "--out", "out", *more)
    assert done.exit_code == status and said in done.stderr


def test_an_interrupted_evaluation_says_how_to_go_on(monkeypatch):
    monkeypatch.setattr(run, "evaluate_texts", Mock(side_effect=KeyboardInterrupt))
    done = call("evaluate", "--model", "m", "--data", "x.csv", "--out", "out")
    assert done.exit_code == 130
    assert (
        done.stderr
        == "interrupted; the same command goes on with the texts explained so far, in out\n"
    )


def test_doctor_says_what_follows(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_CORPORA", str(tmp_path))
    done = call("doctor")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    names = {
        "python",
        "device",
        "memory",
        "disk",
        "quarto",
        "pandoc",
        "browser",
        "corpora",
        "tables",
        "results",
    }
    assert done.exit_code == 0 and lines.keys() == names and "read from there" in lines["corpora"]


def test_lines_are_marked_inside_a_workflow_only_and_written_at_once(monkeypatch):
    """Many steps write to one pipe: with unbuffered output, another's line stood between a line and
    its end.
    """
    written = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append, flush=lambda: None))
    monkeypatch.delenv("ATTREVAL_IN_WORKFLOW", raising=False)
    say_line("x")
    monkeypatch.setenv("ATTREVAL_IN_WORKFLOW", MARK)
    say_line("x")
    assert [text for text in written if text] == ["x\n", f"{MARK}x\n"]


def test_claims_print_what_notebooks_have_found(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_RESULTS", str(tmp_path))
    done = call("claims", "--profile", "smoke")
    assert done.exit_code == 1 and "no claims at" in done.stderr
    claims = read_claims("poerner2018")
    drawn = np.concatenate([np.full(50, 0.125), np.full(400, 0.25), np.full(50, 0.5)])
    found = {
        claims[0].id: Finding(
            0.25, drawn, np.linspace(-0.1, 0.1, 99), texts=40, basis="1 of 1 columns"
        )
    }
    (tmp_path / "smoke" / "tables").mkdir(parents=True)
    score(claims, found).to_csv(
        tmp_path / "smoke" / "tables" / "04_poerner2018_claims.csv", index=False
    )
    said = json.loads(call("claims", "--profile", "smoke", "--json").stdout)
    assert (
        len(said) == len(claims) and said[0]["verdict"] == "reproduced" and said[0]["value"] == 0.25
    )
    assert said[1]["value"] is None and said[1]["verdict"] == "not testable here"
    printed = call("claims", "--profile", "smoke").stdout
    assert "+0.250 [+0.125, +0.500]" in printed and "nan" not in printed
    assert "with random scores +0.000" in printed and "claimed above 0" in printed
    conclusions = sum(one.kind == "conclusion" for one in claims)
    assert f"{conclusions - 1} not testable here" in printed and "1 reproduced" in printed
    cell = {"experiment": "yelp hybrid", "task": "hybrid_yelp", "metric": "hybrid", "method": "lrp"}
    cell |= {"architecture": "GRU", "condition": "all", "confidence": "H", "published": 0.8}
    hits = pd.DataFrame([cell | {"ours": 0.5, "low": 0.4, "high": 0.6}])
    hits.to_csv(tmp_path / "smoke" / "tables" / "04_poerner2018_table2.csv", index=False)
    parts = json.loads(call("claims", "--profile", "smoke", "--published", "--json").stdout)
    assert [(one["part"], one["distance"], one["inside"]) for one in parts] == [
        ("Table 2, yelp hybrid", 0.3, 0)
    ]
    assert "Table 2, yelp hybrid" in call("claims", "--profile", "smoke", "--published").stdout


def test_a_language_model_is_checked_explained_and_evaluated_by_a_template(tmp_path):
    from reference.architectures import save_speaking

    place = str(save_speaking("gpt2", tmp_path / "speaking"))
    asked = ["--template", "{text} It was", "--labels", "yes= good", "--labels", "no= bad"]
    rows = json.loads(call("check", place, *asked, "--json").stdout)["model"]
    assert rows["classes"] == "2: yes, no"
    assert "'{text} It was'" in rows["label words"] and "' good'" in rows["label words"]
    words = ["--text", "the film was slow", "--method", "occlusion_1", "--json"]
    explained = json.loads(call("explain", "--model", place, *words, *asked).stdout)
    assert "yes" in json.dumps(explained) and "It" not in json.dumps(explained)
    out = str(tmp_path / "out")
    data = str(tmp_path / "texts.csv")
    lines = [line for w in "abcd" for line in (f"the film was {w},yes", f"a {w} plot,no")]
    (tmp_path / "texts.csv").write_text("\n".join(("text,label", *lines, "")))
    said = call(
        "evaluate",
        "--model",
        place,
        "--data",
        data,
        "--out",
        out,
        "--methods",
        "occlusion,lime",
        *asked,
    )
    assert said.exit_code == 0, said.output
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["template"] == "{text} It was" and settings["labels"] == {
        "yes": " good",
        "no": " bad",
    }
    for wrong, reason in (
        (["--labels", "yes"], "of the form CLASS=WORDS"),
        (["--labels", "a=b"] * 2, "a class twice"),
    ):
        refused = call("check", place, "--template", "{text}", *wrong)
        assert refused.exit_code == 1 and reason in refused.output
