"""The board: what is submitted comes out again where its worlds are made again by its seed."""

import json

import pytest
from reference import CHECKOUT

from attreval.trial import WORLDS
from attreval.trial.board import FIELDS, VALUES, differences, read_submission, write_submission
from attreval.trial.run import run_trial

BOARD = CHECKOUT / "board"
# a world, and metrics of a submission, that are asked again
AGAIN = ("rules",)
MOST = 5


def test_a_submission_comes_out_again():
    for path in sorted(BOARD.glob("*.jsonl")):
        table = read_submission(path)
        assert set(table.world) <= set(WORLDS) and table.auc.between(0, 1).all(), path
        found = differences(path, AGAIN, MOST)
        assert found.empty, f"{path}: {found.to_string()}"


def test_the_board_holds_ours_and_says_what_a_line_is():
    table = read_submission(BOARD / "attreval.jsonl")
    assert table.metric.nunique() >= 17 and table.world.nunique() >= 10
    said = (BOARD / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in said for name in FIELDS)


def test_what_was_said_elsewhere_is_judged_again(tmp_path):
    """And a line that its values do not bear out is found."""
    row = {"world": "rules", "seed": 3, "metric": "theirs"}
    values = [
        row | {"id": f"rules 3 {at}", "method": method, "value": value}
        for at in range(8)
        for method, value in (("oracle", at % 4), ("random", 2.5), ("reversed", -1))
    ]
    path = tmp_path / "mine.jsonl"
    place = tmp_path / VALUES / "mine.jsonl"
    place.parent.mkdir()
    place.write_text("".join(json.dumps(one) + "\n" for one in values), encoding="utf-8")
    write_submission(path, run_trial(metrics=["nc"], values=place))
    told = read_submission(path).set_index("metric")
    assert told.auc["theirs"] == 0.25 and set(told.index) == {"theirs", "nc"}
    assert differences(path, AGAIN).empty
    path.write_text(path.read_text(encoding="utf-8").replace("0.25", "0.75"), encoding="utf-8")
    found = differences(path, ())
    assert found[["metric", "number"]].to_numpy().tolist() == [["theirs", "auc"]]


def test_what_is_not_so_is_found(tmp_path):
    path = tmp_path / "theirs.jsonl"
    row = {"metric": "nc", "world": "rules", "auc": 0.2, "low": 0.1, "high": 0.3}
    row |= {"tau": None, "cost": 8.0}
    whole = row | {"texts": 8, "seed": 3, "version": "0"}
    path.write_text(json.dumps(whole) + "\n", encoding="utf-8")
    found = differences(path, AGAIN).set_index("number")
    assert found.told["auc"] == 0.2 < found.found["auc"] and "cost" not in found.index
    path.write_text(json.dumps(whole | {"metric": "own"}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"no metric 'own'; it is expected in theirs\.py, or"):
        differences(path, AGAIN)
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="row 1: no texts and no seed and no version"):
        read_submission(path)
