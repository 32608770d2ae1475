"""The demo: what is planted is learnt, found and told, and kept as a page and a picture that need
nothing else.
"""

from __future__ import annotations

import re
from io import StringIO

import numpy as np
import pytest
from bs4 import BeautifulSoup
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from attreval import demo
from attreval.cli import app
from attreval.methods import METHODS
from attreval.metrics import METRICS


class Scored:
    """An explanation whose scores are given."""

    def __init__(self, scores, target):
        self.given = scores
        self.target = target

    def scores(self, method):
        return self.given


@pytest.mark.parametrize(("factor", "truth"), [(3.0, 1.0), (-1.0, 0.0), (0.0, 0.5)])
@pytest.mark.parametrize("other", [False, True])
def test_truth_is_the_order_of_words_for_the_class_that_was_explained(factor, truth, other):
    texts = demo.plant_texts(6, "order")

    class Found(list):
        methods = ("one",)

    worth = [-one.truth if other else one.truth for one in texts]
    targets = [demo.LABELS[1 - one.label if other else one.label] for one in texts]
    found = Found(Scored(factor * w, target) for w, target in zip(worth, targets, strict=True))
    assert demo.find_truth(found, texts).tolist() == [[truth]] * 6


def test_planted_words_decide_the_label():
    for one in demo.plant_texts(50, "words"):
        worth = [demo.WORTHS.get(word, 0) for word in one.text.split()]
        assert (np.sign(sum(worth)) > 0) == one.label and one.truth.tolist() == [
            w * (2 * one.label - 1) for w in worth
        ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The demo on a few texts: the printed lines, the table, the folder of a page and a picture,
    what was explained.
    """
    folder = tmp_path_factory.mktemp("demo")
    train = demo.train_demo_network
    trained = []
    tables = []
    judge = demo.judge_metrics
    explained = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            demo, "train_demo_network", lambda say: trained.append(train(say)) or trained[0]
        )
        patch.setattr(
            demo,
            "judge_metrics",
            lambda *given: explained.append(given[1]) or tables.append(judge(*given)) or tables[-1],
        )
        asked = CliRunner().invoke(
            app, ["demo", "--texts", "12", "--out", str(folder / "page.HTML")]
        )
        assert asked.exit_code == 0, asked.output
        patch.setattr(demo, "train_demo_network", lambda say: trained[0])
        demo.run_demo(2, folder / "picture.svg", say=lambda line: None)
    return asked.output, tables[0].set_index("metric"), folder, explained[0]


def test_the_network_learns_what_was_planted(run):
    found = [int(share) for share in re.findall(r"it is right on +(\d+)%", run[0])]
    assert len(found) == 6 and found[0] < 70 and found[-1] >= 95


def test_methods_are_told_from_random_scores_and_metrics_from_chance(run):
    table = run[1]
    truth = table.loc[demo.TRUTH]
    assert truth.integrated_gradients > 0.9 and abs(truth.random - 0.5) < 0.15
    assert set(table.index) == {demo.TRUTH, *demo.CHOSEN}
    judged = table.loc[list(demo.CHOSEN)]
    assert judged[demo.PREFERS].between(judged.low, judged.high).all()
    assert table.loc["comprehensiveness", demo.PREFERS] > 0.7


def test_what_is_kept_needs_nothing_else(run):
    page = (run[2] / "page.HTML").read_text(encoding="utf-8")
    picture = (run[2] / "picture.svg").read_text(encoding="utf-8")
    assert "planted truth" in page and "Integrated" in picture
    assert all(
        "//" not in re.sub(r"http://www\.w3\.org/\S+|https://www\.textualize\.io", "", text)
        for text in (page, picture)
    )


def test_titles_stand_in_the_page_with_the_best_of_a_row_in_bold(run):
    page = BeautifulSoup((run[2] / "page.HTML").read_text(encoding="utf-8"), "html.parser")
    table = run[1]
    means, judged = page.select(".wide > table")
    names = [*demo.METHODS, "random"]
    assert [" ".join(cell.text.split()) for cell in means.find_all("th")[1:]] == [
        METHODS[name].title for name in names
    ]
    for row, (metric, values) in zip(means.find_all("tr")[1:], table.iterrows(), strict=True):
        sign = METRICS[metric].sign if metric in METRICS else 1
        bold = [name for name, cell in zip(names, row.find_all("td")[1:], strict=True) if cell.b]
        assert bold == [max(demo.METHODS, key=lambda name: sign * values[name])]
    assert [row.td.text for row in judged.find_all("tr")[1:]] == [
        METRICS[name].title for name in demo.CHOSEN
    ]


@pytest.mark.parametrize("coloured", [True, False])
def test_eighty_columns_hold_it_and_break_no_word(run, coloured):
    """A star marks the best where nothing is bold; numbers that round to nothing have no sign."""
    table = run[1].reset_index()
    table.loc[1, ["lrp", "low"]] = -0.001
    table.loc[1, "tells"] = "the opposite"
    kind = {"force_terminal": coloured, "color_system": "truecolor", "no_color": not coloured}
    console = Console(file=StringIO(), width=80, highlight=False, **kind)
    demo._draw(console, run[3], table)
    text = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())
    assert all(cell_len(line) <= 80 for line in text.splitlines())
    titles = [METHODS[name].title for name in demo.METHODS]
    assert {word for title in titles for word in title.split()} <= set(text.split())
    assert f" {demo.PREFERS} " in text and re.search(r"0\.00 to \d\.\d\d +the opposite", text)
    assert "-0.00" not in re.sub(r"-0\.00\d", "", text) and text.count("*") == (
        0 if coloured else len(table)
    )


def test_another_ending_is_refused_before_anything_is_trained(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo.pdf")])
    assert done.exit_code == 1 and ".html or .svg" in done.output and "learns" not in done.output
