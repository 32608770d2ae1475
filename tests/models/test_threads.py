"""One thread or all: the quicker of the two, found out again when batches become slower."""

from contextlib import nullcontext

import pytest
import torch

import attreval as av
from attreval.models import threads
from attreval.models.threads import Threads, quickest_threads


@pytest.fixture
def four():
    """A process of four threads, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def test_the_quicker_number_is_taken_and_found_out_again(four, monkeypatch):
    monkeypatch.setattr(threads, "PAUSE", 0)
    clock = [0.0]  # a busy machine would not keep to real ones
    monkeypatch.setattr(threads.time, "perf_counter", lambda: clock[0])
    seconds = {1: 0.001, 4: 0.01}
    ran = []

    def work():
        ran.append(torch.get_num_threads())
        clock[0] += seconds[ran[-1]]
        return len(ran)

    said = []
    chosen = Threads(said.append)
    assert chosen.run("rows", 10, work) == 1
    assert ran == [4, 1, 4] and torch.get_num_threads() == 1
    assert chosen.run("rows", 10, work) == 4 and ran[3:] == [1]
    seconds |= {1: 0.05, 4: 0.002}  # the machine is quiet now, for all but this thread
    chosen.run("rows", 10, work)
    assert ran[4:] == [1, 1, 4] and torch.get_num_threads() == 4
    assert said == [
        "one thread is quicker than 4 on this machine now",
        "4 threads are quicker than 1 on this machine now",
    ]


def test_threads_are_as_before_afterwards_and_answers_are_the_same(four, tiny):
    alone = av.explain(tiny, "the film was very good", ["occlusion_1", "lime"])
    with quickest_threads(), quickest_threads():
        found = av.explain(tiny, "the film was very good", ["occlusion_1", "lime"])
    assert torch.get_num_threads() == 4
    for method in found.methods:
        assert found[0].scores(method) == pytest.approx(alone[0].scores(method), abs=1e-5)


def test_a_function_is_never_asked_twice_to_time_it(four):
    asked = []

    def predict(texts):
        asked.extend(texts)
        return [[0.25 + 0.5 * ("good" in text), 0.75 - 0.5 * ("good" in text)] for text in texts]

    model = av.wrap(predict, labels=["yes", "no"])
    counts = []
    for how in (nullcontext, quickest_threads):
        asked.clear()
        with how():
            av.explain(model, "a good film", "occlusion_1")
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0


def test_models_are_timed_by_what_they_are_asked(four, tiny, monkeypatch):
    kinds = []
    monkeypatch.setattr(
        Threads, "run", lambda self, kind, tokens, work: kinds.append((kind, tokens)) or work()
    )
    av.explain(tiny, "the film", "occlusion_1")
    assert kinds == []
    with quickest_threads():
        av.explain(tiny, "the film", "occlusion_1")
    assert kinds and all(tokens > 0 for _, tokens in kinds)
