"""A long profile runs in pieces: a target asks for what its paper judges, not for what only another one needs."""

from __future__ import annotations

import pytest
from reference import CHECKOUT

from compendium import config
from compendium.workflow.graph import Graph
from compendium.workflow.steps import STEPS

WANTED = {  # notebook: (a model that it judges, one that it does not)
    "04_poerner2018": (("bbc", "gru"), ("snli", "bart_small")),
    "05_kamp2023": (("snli", "minilm"), ("bbc", "gru")),
    "06_zhao2023": (("imdb", "minilm_long"), ("agreement_parsed", "uni_gru")),
    "07_sun2024": (("snli", "bart_small"), ("rotten_tomatoes", "minilm")),
}


@pytest.mark.parametrize("notebook", WANTED)
def test_a_notebook_trains_only_the_models_that_it_judges(notebook, monkeypatch):
    monkeypatch.delenv("ATTREVAL_CORPORA", raising=False)
    graph = Graph(config.load(str(CHECKOUT / "config" / "quick.yaml")))
    makers = {f: (step, run) for step in STEPS for run in step.runs(graph) for f in step.made_files(graph, *run)}
    todo, trained = [str(path) for path in graph.executed(notebook)], set()
    while todo:
        step, run = makers.pop(todo.pop(), (None, ()))
        if step:
            trained |= {run[:2]} if step.rule == "train" else set()
            todo += step.read_files(graph, *run)
    asked, spared = WANTED[notebook]
    assert asked in trained and spared not in trained
