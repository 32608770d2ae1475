"""What is to be known before scores are trusted stands beside them: in Python, terminals, pages and
pictures.
"""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from reference import architectures as shapes
from rich.console import Console

import attreval as av
from attreval.api.show import picture, terminal
from attreval.methods.method import Budget, UnitSettings

TEXTS = ["good film", "a very slow plot , not good at all , was it ?"]
MASK = "starts from the mask token, or what methods erase to where there is none"
PATHS = ["integrated_gradients", "integrated_gradients_plain"]


def padded_with_zeros(kind, folder):
    """A tiny classifier in which what metrics erase to has a zero vector, as padding has in all
    that are trained with a padding token.
    """
    model = av.load(shapes.save_tiny(kind, folder))
    erased = model.pad_id if model.erasing is None else model.erasing
    with torch.no_grad():
        model.network.get_input_embeddings().weight[erased] = 0.0
    return model


@pytest.mark.parametrize("kind", ["llama", "qwen3", "deberta_v2", "bert"])
def test_paths_start_where_they_can_converge(tmp_path, kind):
    """Methods erase to what metrics erase to where there is no mask token."""
    decoder = kind in ("llama", "qwen3")
    start = "starts from the mean of all embeddings" if decoder else MASK
    model = padded_with_zeros(kind, tmp_path)
    for one in av.explain(model, TEXTS, PATHS):
        scores = one.attributions[PATHS[0]].scores
        gap = one.gaps[PATHS[0]]
        assert abs(gap) <= 0.02 * max(1, abs(scores.sum() - gap))
        assert one.remarks[PATHS[0]] == one.remarks[PATHS[1]][:1] == [start]


@pytest.fixture(scope="module")
def coarse(tmp_path_factory):
    """Two texts explained along a path that one node does not do justice to."""
    model = padded_with_zeros("llama", tmp_path_factory.mktemp("models") / "llama")
    return av.explain(
        model, TEXTS, PATHS, budget=Budget(path_steps=1, path_steps_most=1, path_baseline="pad")
    )


def on_a_terminal(found):
    """What a wide terminal shows, without its colours."""
    shown = Console(
        file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=False, width=400
    )
    terminal.print_explained(shown, found)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.file.getvalue())


def test_what_holds_for_every_text_is_said_once(tmp_path):
    found = av.explain(padded_with_zeros("bert", tmp_path), [*TEXTS, "slow"], PATHS[0])
    for some in (found, found[:1]):
        plain = io.StringIO()
        terminal.show(some, plain, width=200)
        drawn = " ".join(text.get_text() for text in picture.draw_picture(some).axes[0].texts)
        page = BeautifulSoup(
            some.save(tmp_path / "x.html").read_text(encoding="utf-8"), "html.parser"
        )
        for shown in (plain.getvalue(), drawn, page.text, on_a_terminal(some)):
            assert shown.count(MASK) == 1


def test_scores_that_have_not_converged_say_so_wherever_they_are_shown(coarse, tmp_path):
    said = coarse[1].remarks[PATHS[0]][0]
    assert (
        said.startswith("not converged with 1 nodes: the path misses ")
        and coarse[1].remarks[PATHS[1]][0] == said
    )
    assert coarse.to_json()[1]["remarks"] == coarse[1].remarks
    plain = io.StringIO()
    terminal.show(coarse, plain, width=200)
    assert f"{PATHS[0]}: {said}" in plain.getvalue()
    assert said in on_a_terminal(coarse)
    page = BeautifulSoup(
        coarse.save(tmp_path / "x.html").read_text(encoding="utf-8"), "html.parser"
    )
    assert [
        note.text for note in page.find_all("table")[1].tr.td.find_all("span", class_="note")
    ] == [said]
    drawn = [text.get_text() for text in picture.draw_picture(coarse[1:]).axes[0].texts]
    assert " ".join(drawn).count(said) == 2


def test_what_carries_the_mass_is_said(tiny):
    few, more = av.explain(tiny, ["good film", "good . film"], ["attention", "occlusion_1"])
    share = 1 - few.attributions["attention"].scores.sum()  # attention weights sum to 1
    assert few.attributions["attention"].special == pytest.approx(share) and share > 0.5
    assert few.remarks == {
        "attention": [f"[CLS], [SEP] take {share:.0%} of what it gives out, and are not shown"]
    }
    assert not more.remarks
    found = av.explain(tiny, "good . film", "occlusion_1")
    for name, scores in (
        ("mine", [3, -1, 0, 0, 0]),
        ("dot", [0, 1, -3, 0, 0]),
        ("even", [1, 1, 1, 1, 1]),
    ):
        found.add_token_scores(name, [np.array(scores, dtype=float)])
    assert found[0].remarks == {
        "mine": ["[CLS], [SEP] take 75% of what it gives out, and are not shown"],
        "dot": ["'.' takes 75% of what it gives to the text"],
    }


def test_attention_says_why_all_is_zero_and_that_it_has_not_converged(tiny):
    for method in ("attention_head_spans", "attention_combined", "attention_attribution_spans"):
        (one,) = av.explain(tiny, "good film", method)
        assert not one.scores(method).any()
        assert [said for said in one.remarks[method] if said.startswith("all scores are 0: ")]
    few = Budget(
        units=UnitSettings(attention_steps=1, attention_steps_most=1, attention_tolerance=1e-9)
    )
    methods = ["attention_attribution", "attention_attribution_spans", "gradients_combined"]
    (one,) = av.explain(tiny, TEXTS[1], methods, budget=few)
    assert all(
        one.remarks[m][0].startswith("not converged with 1 nodes: a layer misses ") for m in methods
    )


def test_a_text_without_a_known_word_is_remarked_on(tiny):
    unknown, known = av.explain(tiny, ["\N{SNOWMAN} \N{SNOWMAN}", "\N{SNOWMAN} film"], "lime")
    assert unknown.remarks == {"lime": ["no word of this text is in the model's vocabulary"]}
    assert not known.remarks
