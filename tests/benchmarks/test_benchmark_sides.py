"""The benchmark's sides: what is counted, in which order, and ours on a tiny model."""

import json
from argparse import Namespace
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import measuring
import ours
import pytest
import run
import torch
from reference import CHECKOUT

from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer

TEXTS = [("a very good film", ""), ("the plot was slow", "the film is not good"), ("bad !", "")]
ASKED = Namespace(what=".*", device="cpu", repeat=3, count=2)


class Network(torch.nn.Module):
    """Takes what a classifier takes, and reads nothing."""

    def forward(self, input_ids=None, inputs_embeds=None, attention_mask=None):
        return SimpleNamespace(
            logits=torch.zeros(len(input_ids if inputs_embeds is None else inputs_embeds), 2)
        )


def test_a_hook_counts_rows_and_tokens_without_padding_and_gradients_apart():
    network = Network()
    counted = measuring.watch(network)
    network(
        input_ids=torch.ones(3, 5),
        attention_mask=torch.tensor([[1] * 5, [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]]),
    )
    assert counted == measuring.Counted(3, 8, 0)
    network(torch.ones(2, 4))
    assert counted == measuring.Counted(5, 16, 0)
    # one mask for both
    network(inputs_embeds=torch.ones(2, 6, 7, requires_grad=True), attention_mask=torch.ones(1, 6))
    assert counted == measuring.Counted(7, 28, 12)
    network(inputs_embeds=torch.ones(1, 6, 7))
    assert counted == measuring.Counted(8, 34, 12)


def test_a_stopwatch_leaves_the_warm_up_out_and_measures_what_is_wanted(capsys):
    counted = measuring.Counted()
    watch = measuring.Stopwatch("peer", Namespace(**vars(ASKED) | {"what": "li.*"}), counted)
    read = []

    def explain_one(text):
        read.append(text)
        counted.rows += 4

    watch.take("lime", "batch 4", TEXTS, explain_one)
    watch.take("occlusion", "batch 4", TEXTS, explain_one)
    (printed,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert read == [measuring.WARM_UP, *TEXTS]
    told = {
        "who": "peer",
        "what": "lime",
        "setting": "batch 4",
        "repeat": 3,
        "texts": 3,
        "rows": 12,
    }
    assert told.items() <= printed.items()
    assert printed["seconds"] >= 0 and printed["peak_mb"] > 0


def test_texts_are_read_with_or_without_a_second_part(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text('text,other\n"one, two",three\nfour,\n', encoding="utf-8")
    assert measuring.read_texts(path) == [("one, two", "three"), ("four", "")]
    assert [measuring.joined(*text) for text in measuring.read_texts(path)] == [
        "one, two three",
        "four",
    ]
    with pytest.raises(ValueError, match="has 2 texts; 3 are asked for"):
        measuring.read_texts(path, 3)
    path.write_text("sentence\nfour\n", encoding="utf-8")
    with pytest.raises(ValueError, match="column `text`"):
        measuring.read_texts(path)


@pytest.fixture(scope="module")
def taken(tiny):
    """The lines of our side on the tiny model, by task."""
    ledger = ours.Ledger(tiny)
    with redirect_stdout(StringIO()) as said:
        ours.measure(ledger, measuring.Stopwatch("ours", ASKED, ledger.counted), TEXTS, 40, (1, 3))
    return {line["what"]: line for line in map(json.loads, said.getvalue().splitlines())}


def test_our_side_has_every_task_that_a_peer_is_compared_in(taken):
    import re

    wanted = {
        *ours.SIX,
        "six",
        "faithfulness",
        "lime_40",
        "kernel_shap_40",
        "occlusion",
        "saliency",
    }
    assert set(taken) == wanted | {"insertion_deletion", "growth_1", "growth_3"}
    for tasks in run.TASKS.values():
        assert any(re.fullmatch(tasks, what) for what in taken)
    assert all(any(re.fullmatch(tasks, what) for tasks in run.TASKS.values()) for what in taken)


def test_our_side_counts_the_rows_of_the_ledger(taken, tiny):
    for what, methods in [*((name, [name]) for name in ours.SIX), ("six", ours.SIX)]:
        made = []
        scorer = Scorer(tiny, notify=made.append)  # told of every row that has been run
        explained = explain_instances(scorer, ours.instances(TEXTS[:2]), methods)
        assert taken[what]["rows"] == sum(made)
        costs = [
            scorer.costs["prediction"],
            *(a.cost for one in explained for a in one.attributions.values()),
        ]
        assert taken[what]["tokens"] == sum(cost.unique_tokens for cost in costs)
    singles = sum(taken[name]["rows"] for name in ours.SIX)
    assert taken["six"]["rows"] < singles  # what one method has asked the others have for free


def test_rows_are_those_that_the_methods_owe(taken, tiny):
    sizes = [len(tiny.tokens(instance).content) for instance in ours.instances(TEXTS[:2])]
    assert taken["occlusion"]["rows"] == sum(n + 1 for n in sizes)
    assert taken["saliency"]["rows"] == 2 * len(sizes)  # the prediction, and a gradient
    assert taken["growth_3"]["texts"] == 3 and taken["six"]["texts"] == 2
    assert 0 < taken["saliency"]["gradient_tokens"] == taken["saliency"]["tokens"] / 2
    assert taken["lime_40"]["gradient_tokens"] == 0


def test_a_side_that_fails_does_not_take_the_others_along(monkeypatch):
    def take(who, arguments, threads):
        if who == "captum":
            raise RuntimeError("no such thing")
        return [{"who": who, "seconds": 1.0, "arguments": arguments}]

    monkeypatch.setattr(run, "take", take)
    asked = run.read_arguments(
        ["--repeats", "2", "--growth", "1,5", "--model", "m", "--texts", "t.csv"]
    )
    lines, failed = run.measure(asked, ["ferret", "captum"])
    assert [line["who"] for line in lines] == ["floor", "ours", "ferret", "ours", "ferret", "floor"]
    assert [text.partition(":")[0] for text in failed] == ["captum, repeat 1", "captum, repeat 2"]
    growth = [next(a for a in line["arguments"] if a.startswith("--growth")) for line in lines]
    assert growth == ["--growth=1,5"] * 3 + ["--growth="] * 3
    what = {
        line["who"]: next(a for a in line["arguments"] if a.startswith("--what=")) for line in lines
    }
    assert what["ours"] == f"--what={run.TASKS['ferret']}|{run.TASKS['captum']}"
    assert what["ferret"] == f"--what={run.TASKS['ferret']}" and what["floor"] == "--what=.*"


def test_a_peers_process_sees_its_own_packages_alone(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "ours")
    peer = run.environment("ferret", 3)
    own = run.environment("ours", 1)
    assert "PYTHONPATH" not in peer and own["PYTHONPATH"] == "ours"
    assert peer["OMP_NUM_THREADS"] == "3" and peer["HF_HUB_OFFLINE"] == "1"


def test_a_script_that_ends_badly_is_told_with_its_last_words(monkeypatch, tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text('raise SystemExit("the weights are gone")')
    monkeypatch.setattr(run, "script", lambda who: bad)
    with pytest.raises(RuntimeError, match=r"bad\.py ended with 1: the weights are gone"):
        run.take("ours", [], 1)
    good = tmp_path / "good.py"
    good.write_text('print("loading")\nprint(\'{"who": "ours", "seconds": 1}\')')
    monkeypatch.setattr(run, "script", lambda who: good)
    assert run.take("ours", [], 1) == [{"who": "ours", "seconds": 1}]


def test_a_peer_without_environment_says_how_to_make_it(monkeypatch):
    monkeypatch.setattr(run, "HERE", Path("/nowhere"))
    with pytest.raises(RuntimeError, match="make bench ONLY=ferret"):
        run.interpreter("ferret")


def test_every_peer_has_a_script_pins_and_a_place_in_the_makefile():
    make = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    assert f"PEERS := {' '.join(run.TASKS)}\n" in make
    for peer in run.TASKS:
        assert run.script(peer).is_file()
        pins = [
            path.read_text()
            for path in (CHECKOUT / "benchmarks" / "environments").glob(f"{peer}*.txt")
        ]
        assert f"{run.PACKAGES[peer]}==" in "".join(pins)
        torch_pin = next(row for row in "\n".join(pins).splitlines() if row.startswith("torch=="))
        assert torch_pin in (CHECKOUT / "requirements.torch").read_text()  # the same on every side


@pytest.mark.parametrize(
    ("model", "told", "kind", "name"),
    [
        (
            "Intel(R) Xeon(R) Processor",
            ["AVX512", "float32", ""],
            "intel-xeon-avx512",
            "Intel Xeon",
        ),
        ("AMD EPYC", ["AVX512", "bfloat16", ""], "amd-epyc-avx512-bfloat16", "AMD EPYC"),
        (
            "Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz",
            ["AVX2", "float32", ""],
            "intel-core-i7-8550u-avx2",
            None,
        ),
    ],
)
def test_a_machine_is_named_by_model_instructions_and_precision(
    monkeypatch, model, told, kind, name
):
    monkeypatch.setattr(run, "_text_of", lambda path: f"processor\t: 0\nmodel name\t: {model}\n")
    monkeypatch.setattr(
        run.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=json.dumps(told))
    )
    assert run.machine("cpu") == (kind, name or "Intel Core i7-8550U")
