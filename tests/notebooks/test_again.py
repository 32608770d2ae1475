"""All claims of a run judged again by what it has kept, where there are no corpora and no torch."""

import json
import shutil

import pytest
from reference.judged_again import judge_alone

from attreval.core.tables import read_csv, write_csv
from compendium.papers.common.claims import scorecard

pytestmark = pytest.mark.workflow


def test_claims_come_out_as_they_are_kept(finished, tmp_path):
    """And a number that is not what the values say is told, by the claim that it is of."""
    copy = tmp_path / "smoke"
    for part in ("tables", "values", "steps"):
        shutil.copytree(finished.results / part, copy / part)
    shutil.copy(finished.results / "manifest.json", copy)
    home = {"ATTREVAL_RESULTS": str(tmp_path), "ATTREVAL_HOME": str(finished.home)}
    done = judge_alone(tmp_path, "--profile", "smoke", **home)
    assert done.returncode == 0, done.stderr
    card = scorecard(copy / "tables")
    told = json.loads(done.stdout)
    assert [row["claim"] for row in told] == card.claim.tolist()
    assert [row["verdict"] for row in told] == card.verdict.tolist()
    for kept in (copy / "values").glob("*"):
        if not kept.stem.startswith("04"):
            kept.unlink()  # their claims stand as they are
    table = copy / "tables" / "04_poerner2018_claims.csv"
    claims = read_csv(table)
    at = claims.value.first_valid_index()
    write_csv(table, claims.assign(value=claims.value.mask(claims.index == at, 0.123)))
    done = judge_alone(tmp_path, "--profile", "smoke", **home)
    assert done.returncode == 1
    assert f"otherwise than they are kept: ['{claims.claim[at]}']" in done.stderr
    shutil.rmtree(copy / "values")
    done = judge_alone(tmp_path, "--profile", "smoke", **home)
    assert done.returncode == 1 and f"no {copy / 'values'}: run notebook" in done.stderr
