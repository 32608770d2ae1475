"""The papers' own tables, entered as if they were ours: what a table can decide comes out as the paper says."""

import numpy as np
import pytest

from compendium.papers.common.claims import read_claims
from compendium.papers.kamp2023 import claims as kamp
from compendium.papers.poerner2018.claims import published_value
from compendium.papers.sun2024 import claims as sun
from compendium.papers.zhao2023 import claims as zhao


def failing(paper, found):
    """The claims that do not hold on the paper's own numbers."""
    claims = [claim for claim in read_claims(paper) if claim.id in found]
    assert len(claims) == len(found)
    return [claim.id for claim in claims if not claim.expect.holds(found[claim.id])]


def test_the_published_hits_of_pointing():
    """Of the columns that were surely read."""
    claims = [claim for claim in read_claims("poerner2018") if claim.contrast]
    found = {claim.id: published_value(claim) for claim in claims}
    decided = {claim.id: claim.expect.holds(found[claim.id]) for claim in claims if np.isfinite(found[claim.id])}
    assert len(decided) == 8 and all(decided.values()), decided


def test_the_published_tables_of_agreement():
    """Table 1 has 7 of 8 steps that fall, and falls as a whole: `generally`."""
    found = kamp.published_values()
    assert set(found) == {"improvement-shrinks", "dynamic-k-order", "dynamic-k-shap", "dynamic-k-plain-ig"}
    assert found["improvement-shrinks"] == pytest.approx(-0.0145) and found["dynamic-k-order"] == 1
    assert not failing("kamp2023", found)


def test_the_published_tables_of_faithfulness():
    assert not failing("zhao2023", found := zhao.published_values()) and len(found) == 9


def test_the_published_tables_of_diagnosis():
    """Integrated gradients make the most helpful spans in the text, and in one cell of four in Tables 7 and 9."""
    assert failing("sun2024", found := sun.published_values()) == ["gradients-make-helpful-spans"] and len(found) == 15


def test_the_papers_words_stand_beside_each_claim_but_those_of_sequels():
    assert all(bool(claim.words) != bool(claim.sequel) for claim in read_claims())
