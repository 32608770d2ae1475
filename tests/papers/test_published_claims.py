"""The papers' own tables, entered as if they were ours: what a table can decide comes out as the paper says."""

import numpy as np

from compendium.papers.common.claims import read_claims
from compendium.papers.kamp2023.claims import published_values
from compendium.papers.poerner2018.claims import published_value


def test_the_published_hits_of_pointing():
    """Of the columns that were surely read."""
    claims = [claim for claim in read_claims("poerner2018") if claim.contrast]
    found = {claim.id: published_value(claim) for claim in claims}
    decided = {claim.id: claim.expect.holds(found[claim.id]) for claim in claims if np.isfinite(found[claim.id])}
    assert len(decided) == 8 and all(decided.values()), decided


def test_the_published_tables_of_agreement():
    """Table 1 has 7 of 8 steps that fall; the claim that all of them must was not reproduced by the paper itself."""
    asked, found = {claim.id: claim for claim in read_claims("kamp2023")}, published_values()
    assert set(found) == {"improvement-shrinks", "dynamic-k-order", "dynamic-k-shap", "dynamic-k-plain-ig"}
    assert found["improvement-shrinks"] == 0.875 and found["dynamic-k-order"] == 1
    for name, value in found.items():
        assert asked[name].expect.holds(value), name
