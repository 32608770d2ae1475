"""Cell decomposition (Murdoch & Szlam 2017): what each word left in the cells that the classifier reads at the end."""

from __future__ import annotations

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.models.questions import CellParts, Conversation


@method(
    "Cell decomposition",
    source="Murdoch & Szlam 2017; Poerner et al. 2018",
    kind="propagation",
    evaluations="1",
    order=30,
    families=("recurrent", "quasi"),
    in_papers={"poerner2018": (15, "decomp")},
    lacking="they have no cells in which a token leaves its part",
    name="decomposition",
)
def cell_decomposition(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) parts of the class score less its bias (Murdoch & Szlam 2017; Poerner et al. 2018, section 3.4)."""
    parts = yield CellParts(tokens.ids, tokens.segments, budget.decomposition_output_gate)
    return Scores(parts[tokens.content, target])
