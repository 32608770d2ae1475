"""Cell decomposition (Murdoch & Szlam 2017): what each word left in the cells that the classifier reads at the end."""

from __future__ import annotations

from attreval.methods.method import Scores
from attreval.models.questions import CellParts


def cell_decomposition(tokens, target, budget, rng):
    """(n,) parts of the class score less its bias (Murdoch & Szlam 2017; Poerner et al. 2018, section 3.4)."""
    parts = yield CellParts(tokens.ids, tokens.segments, budget.decomposition_output_gate)
    return Scores(parts[tokens.content, target])
