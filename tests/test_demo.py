"""The demo: what is planted is learnt, found and told, and kept as a page and a picture that need nothing else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from attreval import demo
from attreval.cli import app


class Scored:
    """An explanation whose scores are given."""

    def __init__(self, scores, target):
        self.given, self.target = scores, target

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
        assert (np.sign(sum(worth)) > 0) == one.label and one.truth.tolist() == [w * (2 * one.label - 1) for w in worth]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The demo on a few texts, as a page and as a picture: the printed lines, the table, both files."""
    folder, train, trained, tables = tmp_path_factory.mktemp("demo"), demo.train_network, [], []
    judge = demo.judge_metrics
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "train_network", lambda say: trained.append(train(say)) or trained[0])
        patch.setattr(demo, "judge_metrics", lambda *given: tables.append(judge(*given)) or tables[-1])
        asked = CliRunner().invoke(app, ["demo", "--texts", "12", "--out", str(folder / "page.html")])
        assert asked.exit_code == 0, asked.output
        patch.setattr(demo, "train_network", lambda say: trained[0])
        demo.run_demo(2, folder / "picture.svg", say=lambda line: None)
    return asked.output, tables[0].set_index("metric"), folder


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
    page, picture = ((run[2] / name).read_text(encoding="utf-8") for name in ("page.html", "picture.svg"))
    assert "planted truth" in page and "Integrated" in picture
    assert all(
        "//" not in re.sub(r"http://www\.w3\.org/\S+|https://www\.textualize\.io", "", text) for text in (page, picture)
    )


def test_another_ending_is_refused_before_anything_is_trained(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo.pdf")])
    assert done.exit_code == 1 and ".html or .svg" in done.output and "learns" not in done.output
