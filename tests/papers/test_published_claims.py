"""The papers' own tables, entered as if they were ours: what a table can decide comes out as the paper says."""

import numpy as np

from attreval.papers.common.claims import read_claims
from attreval.papers.kamp2023.claims import published_values
from attreval.papers.poerner2018.claims import published_value


def test_the_published_hits_of_pointing():
    """Of the columns that were surely read."""
    found = {claim: published_value(claim) for claim in read_claims("poerner2018") if claim.contrast}
    decided = {claim.id: claim.expect.holds(value) for claim, value in found.items() if np.isfinite(value)}
    assert len(decided) == 9 and all(decided.values()), decided


def test_the_published_tables_of_agreement():
    """Table 1 has 7 of 8 steps that fall; the claim that all of them must was not reproduced by the paper itself."""
    asked, found = {claim.id: claim for claim in read_claims("kamp2023")}, published_values()
    assert set(found) == {"improvement-shrinks", "dynamic-k-order", "dynamic-k-shap", "dynamic-k-plain-ig"}
    assert found["improvement-shrinks"] == 0.875 and found["dynamic-k-order"] == 1
    for name, value in found.items():
        assert asked[name].expect.holds(value), name
