"""The choice of a method: the truth is never surely beaten, two halves agree, equal methods have no
winner.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from reference.models import Planted

import attreval as av
from attreval.evaluation import choice, findings, run
from attreval.evaluation.choice import gather_means, rank_methods
from attreval.metrics.rank_correlation import draw_judges

REST = ["the", "a", "film", "plot", "was", "is", "not", "very", "slow", "brave", "able", ".", ","]
SIGNS = ("bad", "good")
METHODS = ["omission_7", "gradient_x_input"]


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr(findings, "DRAWS", 300)


class Keyword(Planted):
    """A model that one word decides, the others next to nothing, or by `noise` a little."""

    labels = SIGNS
    width = 16

    def __init__(self, seed: int, noise: float = 0.02):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.gain = rng.uniform(2, 8)
        self.bias = rng.uniform(-0.3, 0.3)
        table = np.repeat(noise * rng.standard_normal((len(self.tokenizer), 1)), self.width, axis=1)
        for sign, word in zip((-1, 1), SIGNS, strict=True):
            table[self.tokenizer.convert_tokens_to_ids(word)] = sign
        self.table = torch.from_numpy(table)

    def logits(self, ids, mask, segments, precision="float32", embeddings=None, entering=None):
        vectors = self.table[ids] if embeddings is None else embeddings
        vectors = vectors if entering is None else entering(vectors)
        half = self.gain * ((vectors.mean(dim=2) * (mask != 0)).sum(dim=1) + self.bias) / 2
        return torch.stack([-half, half], dim=1)


def evaluated(model, seed, number, folder):
    """An evaluation of METHODS and of the truth on texts of which one word decides."""
    rng = np.random.default_rng(seed)
    texts = []
    with (folder / f"truth{seed}.jsonl").open("w", encoding="utf-8") as lines:
        for at in range(number):
            words = rng.choice(REST, size=rng.integers(5, 10)).tolist()
            place = int(rng.integers(len(words)))
            words[place] = SIGNS[at % 2]
            texts.append(" ".join(words))
            scores = np.eye(len(words))[place].tolist()
            row = {"text": texts[-1], "method": "truth", "tokens": words, "scores": scores}
            lines.write(json.dumps(row) + "\n")
    table = {"text": texts, "label": [SIGNS[at % 2] for at in range(number)]}
    given = [folder / f"truth{seed}.jsonl"]
    return av.evaluate_texts(model, table, methods=METHODS, attributions=given, cores=1)


def test_on_a_dozen_planted_models_the_truth_is_never_surely_beaten(tmp_path):
    for seed in range(12):
        found = evaluated(Keyword(seed), seed, 30, tmp_path)
        truth = found.choice.set_index("method").loc["truth"]
        assert truth.leading and truth.above_random, (seed, found.choice)
        assert not found.settled or truth.equal, (seed, found.choice)


def test_two_halves_of_one_corpus_say_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "FIRST", 80)
    whole = evaluated(Keyword(0, noise=0.2), 0, 80, tmp_path)
    same = 0
    told = ("title", "labels", "size", "dropped", "given", "seconds", "max_length")
    facts = {name: getattr(whole, name) for name in told}
    for draw in range(20):
        order = np.random.default_rng(draw).permutation(80)
        said = []
        for half in np.split(order, 2):
            judged = [whole.judged[i] for i in half]
            found = findings.conclude(judged, [], [whole.rows[i] for i in half], facts)
            said.append(found.best.method if found.settled else found.verdict)
        same += said[0] == said[1]
    assert same >= 19 and whole.settled


def test_of_equal_methods_none_is_named_the_winner_in_more_than_one_of_twenty_draws():
    """Samples grow as those of `evaluate_texts` do; a winner that any of them names counts."""
    names = ("random", "a", "b")
    named = 0
    for draw in range(80):
        rng = np.random.default_rng(draw)
        of_methods = np.array([0, 0.5, 0.5]) + 0.3 * rng.standard_normal((200, 3))
        values = {}
        for at, metric in enumerate(("nc", "ns", "soft_nc_equal", "people_dynamic"), 1):
            values[metric] = of_methods + 0.1 * at * rng.standard_normal((1, 200, 3))
        for size in (50, 100, 200):
            part = {metric: value[:, :size] for metric, value in values.items()}
            drawn = draw_judges(part, names, 300, draw)
            means = gather_means({"x": drawn}, "x", names, lambda method: 1.0)
            found = rank_methods(means, findings.CONFIDENCE)
            if found.settled[0]:
                named += found.equal.sum() == 1
                break
    assert named <= 4


def test_a_metric_that_its_trial_condemns_has_no_vote(monkeypatch):
    means = {metric: np.array([0.0, 0.5, 1.0]) for metric in ("nc", "ns")}
    drawn = {metric: np.tile([0.0, 0.5, 1.0], (20, 1)) for metric in means}
    measured = choice.MethodMeans(
        ("random", "lime", "lrp"), means, drawn, {"nc": 100, "ns": 100}, np.ones(3)
    )
    told = choice.weigh_metrics(measured)
    assert told.weight.tolist() == [0.5, 0.5]
    assert told.trial.to_dict() == {name: choice.share_sure(name) for name in means}
    assert all(choice.MOST_WORLDS < choice.share_sure(name) <= 1 for name in choice.VOTING)
    monkeypatch.setattr(choice, "share_sure", {"nc": 0.5, "ns": 0.9}.get)
    assert choice.weigh_metrics(measured).weight.to_dict() == {"ns": 1.0}
