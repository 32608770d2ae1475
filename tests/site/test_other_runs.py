"""A run beside the committed ones: verdicts that differ, and accuracy against price."""

import json
import shutil

import pandas as pd
import pytest
from reference import CHECKOUT

from compendium.project import Results
from compendium.site.pictures import NO_LIMIT, draw_table, time_to_accuracy
from compendium.site.rendering import _count_verdicts
from compendium.site.verify import ALONE, other_runs

RUN = CHECKOUT / "results" / "reference" / "quick"


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A project that has the committed run of quick, and nothing else."""
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path))
    place = tmp_path / "results" / "reference" / "quick"
    place.mkdir(parents=True)
    for name in ("claims.json", "manifest.json"):
        shutil.copy(RUN / name, place)
    (tmp_path / "paper").mkdir()
    shutil.copy(CHECKOUT / "paper" / "claims.yml", tmp_path / "paper")
    return place


def copy_of_claims(folder) -> Results:
    """A run with the claims of the committed one."""
    (folder / "tables").mkdir(parents=True)
    for path in (RUN / "tables").glob("*_claims.csv"):
        shutil.copy(path, folder / "tables")
    return Results(folder)


def test_a_run_beside_itself_or_without_claims_is_alone(committed, tmp_path):
    sentence, table = other_runs("quick", copy_of_claims(tmp_path / "run"))
    assert sentence == ALONE and ALONE in table
    (tmp_path / "other" / "tables").mkdir(parents=True)
    assert other_runs("quick", Results(tmp_path / "other"))[0] == ALONE


def test_only_verdicts_that_differ_are_listed_and_only_those_tested_by_both(committed, tmp_path):
    run = copy_of_claims(tmp_path / "run")
    claims = json.loads((committed / "claims.json").read_text())
    tested = [
        row for row in claims if row["verdict"] != "not testable here" and row["value"] is not None
    ]
    turned = tested[0]
    dropped = tested[1]
    turned["verdict"] = "contradicted" if turned["verdict"] != "contradicted" else "reproduced"
    turned["value"] = -0.125
    dropped["verdict"] = "not testable here"
    (committed / "claims.json").write_text(json.dumps(claims))
    sentence, table = other_runs("mine", run)
    both = f"Of the {len(tested) - 1} conclusions that both test, 1 have another verdict"
    assert sentence == f"{both} in the committed run of profile quick."
    header, _, *rows = table.splitlines()
    shown = [cell.strip() for cell in header.strip("|").split("|")]
    assert shown == ["committed run", "conclusion", "committed", "here"]
    assert len(rows) == 1 and turned["statement"].split()[0] in rows[0] and "0.125" in rows[0]


def test_the_picture_of_prices(tmp_path):
    table = CHECKOUT / "results" / "reference" / "benchmark" / "benchmark_accuracy.csv"
    made = draw_table(time_to_accuracy, table, tmp_path / "prices")
    assert {path.suffix for path in made} == {".png", ".svg"}
    found = pd.read_csv(table)
    axes = time_to_accuracy(found)
    drawn = {float(y) for line in axes.get_lines() for y in line.get_ydata()}
    assert drawn == set(found[~found.method.isin(NO_LIMIT)].spearman)
    made = draw_table(time_to_accuracy, tmp_path / "none.csv", tmp_path / "prices")
    assert b"not part of this run" in made[1].read_bytes()


def test_verdicts_are_counted_and_what_random_scores_support_as_much(tmp_path):
    """Claimed are a value below 0, one above 0, and one from .98 to 1.02."""
    rows = [
        ("limsse-fails-on-agreement", "reproduced", -0.1, -0.4, 4),
        ("limsse-best-on-hybrid", "reproduced", 0.1, 0.05, 1),
        ("agreement-rises-with-k", "reproduced", 1.0, 0.99, 1),
        ("length-bias", "contradicted", -0.1, 0.2, 1),
        ("rises-with-ratio", "not testable here", 1.0, 1.0, 1),
    ]
    table = pd.DataFrame(rows, columns=["claim", "verdict", "value", "null_scores", "models"])
    table.assign(kind="conclusion", seeds=1).to_csv(
        tmp_path / "04_poerner2018_claims.csv", index=False
    )
    found = _count_verdicts(tmp_path)
    assert (
        found["run.claims"],
        found["run.claims_reproduced"],
        found["run.claims_inconclusive"],
    ) == ("5", "3", "0")
    assert found["run.claims_alone"] == "3"
    assert _count_verdicts(tmp_path / "empty") == dict.fromkeys(found, "0")
