"""Turning one thing at a time: only what is contradicted, only what changes something, and in the right words."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.common.claims import (
    FEW,
    INSIDE,
    OPEN,
    OUTSIDE,
    Claim,
    Turn,
    holds,
    say_turned,
    score,
    turned_table,
)
from compendium.papers.common.verdicts import Expectation, Finding

ABOVE = Expectation(above=0)


def claim(name: str) -> Claim:
    about = dict.fromkeys(("title", "where", "measure", "reported"), "")
    return Claim(id=name, paper="sun2024", statement=name, expect=ABOVE, null_world="random scores", **about)


def finding(value: float, spread: float = 0.01, texts: int = 50) -> Finding:
    draws = value + np.linspace(-spread, spread, 401)
    return Finding(value, draws, np.zeros(99), np.zeros(99), texts=texts)


@pytest.mark.parametrize(
    ("expect", "ends", "texts", "then"),
    [
        ({"above": 0}, (0.1, 0.2), 30, INSIDE),
        ({"above": 0}, (-0.1, 0.2), 30, OPEN),
        ({"above": 0}, (-0.2, -0.1), 30, OUTSIDE),
        ({"above": 0}, (0.1, 0.2), 29, FEW),
        ({"near": 1, "within": 0.1}, (0.5, 0.8), 40, OUTSIDE),
        ({"near": 1, "within": 0.1}, (0.95, 1.05), 40, INSIDE),
        ({"near": 1, "within": 0.1}, (1.2, 1.3), 40, OUTSIDE),
        ({"near": 1, "within": 0.1}, (0.8, 1), 40, OPEN),
    ],
)
def test_an_interval_is_inside_outside_or_neither(expect, ends, texts, then):
    assert holds(Expectation(**expect), *ends, texts) == then


def test_only_contradicted_claims_are_turned_and_only_what_changes_them():
    claims = [claim("wrong"), claim("right")]
    judged = score(claims, {"wrong": finding(-0.5), "right": finding(0.5)})
    assert judged.set_index("claim").verdict["wrong"] == "contradicted"
    asked = []

    def turn(one):
        asked.append(one.id)
        yield Turn("corpus", "same", finding(-0.5))
        yield Turn("corpus", "nothing there", None)
        yield Turn("model", "no number", Finding(float("nan"), np.full(3, np.nan)))
        yield Turn("model", "GRU", finding(0.3))
        yield Turn("metric", "another", finding(0.3), Expectation(below=0))

    table = turned_table(claims, judged, turn, 0.95)
    assert asked == ["wrong"]
    assert table[["what", "how", "holds"]].to_numpy().tolist() == [
        ["model", "GRU", INSIDE],
        ["metric", "another", OUTSIDE],
    ]
    assert list(table.claimed) == ["above 0", "below 0"]
    assert (table.low < table.value).all()


def test_a_run_in_which_all_holds_has_an_empty_table_with_its_columns(tmp_path):
    judged = score([claim("right")], {"right": finding(0.5)})
    table = turned_table([claim("right")], judged, lambda one: iter(()), 0.95)
    table.to_csv(tmp_path / "x.csv", index=False)
    assert list(pd.read_csv(tmp_path / "x.csv").columns) == list(table.columns)
    assert say_turned(table.to_dict("records")) == ""


def test_the_sentence_names_what_holds_and_counts_what_does_not():
    def row(what, how, holds):
        return {"what": what, "how": how, "value": 0.5, "low": 0.25, "high": 0.75, "holds": holds}

    others = [row("method", str(at), OUTSIDE) for at in range(4)]
    said = say_turned([row("model", "GRU", INSIDE), row("corpus", "SST-2", OPEN), *others])
    assert "(6 changes), it holds with model GRU (0.500 [0.250, 0.750]); is open with corpus SST-2" in said
    assert said.endswith("does not hold with the other 4.")
    few = say_turned([row("model", "GRU", FEW), row("corpus", "SST-2", OUTSIDE)])
    assert "it holds with none; is undecided with model GRU" in few and "does not hold with corpus SST-2 (0.5" in few
