"""Entries of METHODS that read a model's inside: relevance led back through its layers, and attention weights."""

from __future__ import annotations

from attreval.methods import attention, cell_decomposition, lrp_deeplift, rollout
from attreval.methods.method import Method

P18, Z23 = "Poerner et al. 2018", "Zhao & Aletras 2023"
PAPER, RELEASED = f"{Z23}, section 4.3", f"{Z23}, released code"
GATED = ("recurrent", "quasi")
TRANSFORMER = ("transformer",)  # no other family has weights of attention
NO_ATTENTION = "they have no attention, whose rule is all that sets it apart from `lrp`"


def of_poerner(row: int, name: str) -> dict[str, tuple[int, str]]:
    """The place of a method in the list of Poerner et al. (2018)."""
    return {"poerner2018": (row, name)}


INSIDE_METHODS: tuple[Method, ...] = (
    Method(
        "lrp",
        "LRP",
        lrp_deeplift.lrp,
        "1",
        f"{P18}, section 3.2; Achtibat et al. 2024 for transformers",
        "propagation",
        in_papers=of_poerner(16, "lrp"),
    ),
    Method(
        "deeplift_complete",
        "DeepLIFT (every layer)",
        lrp_deeplift.deeplift_complete,
        "1",
        "Shrikumar et al. 2017; ours for attention and normalisation",
        "propagation",
        families=TRANSFORMER,
        lacking="their `deeplift` holds in every layer",
    ),
    Method(
        "lrp_cp",
        "CP-LRP",
        lrp_deeplift.lrp_cp,
        "1",
        "Ali et al. 2022",
        "propagation",
        families=TRANSFORMER,
        lacking=NO_ATTENTION,
    ),
    Method(
        "gim",
        "GIM",
        lrp_deeplift.gim,
        "1",
        "Edin et al. 2025b",
        "propagation",
        families=TRANSFORMER,
        lacking=NO_ATTENTION,
    ),
    Method(
        "deeplift",
        "DeepLIFT",
        lrp_deeplift.deeplift,
        "1",
        f"{P18}, section 3.3; captum for transformers",
        "propagation",
        in_papers=of_poerner(17, "deeplift") | {"zhao2023": (5, "DeepLift")},
    ),
    Method(
        "decomposition",
        "Cell decomposition",
        cell_decomposition.cell_decomposition,
        "1",
        f"Murdoch & Szlam 2017; {P18}",
        "propagation",
        families=GATED,
        lacking="they have no cells in which a token leaves its part",
        in_papers=of_poerner(15, "decomp"),
    ),
    Method(
        "attention",
        "Attention",
        attention.attention,
        "1",
        PAPER,
        "attention",
        signed=False,
        families=TRANSFORMER,
        in_papers={"zhao2023": (1, "Attention")},
    ),
    Method(
        "scaled_attention",
        "Scaled attention",
        attention.scaled_attention,
        "1",
        PAPER,
        "attention",
        families=TRANSFORMER,
        in_papers={"zhao2023": (2, "ScaledAttention")},
    ),
    Method(
        "scaled_attention_squared",
        "Scaled attention (released)",
        attention.scaled_attention_squared,
        "1",
        RELEASED,
        "attention",
        signed=False,
        families=TRANSFORMER,
    ),
    Method(
        "attention_rollout",
        "Attention rollout",
        rollout.attention_rollout,
        "1",
        "Abnar & Zuidema 2020",
        "attention",
        signed=False,
        families=TRANSFORMER,
    ),
    Method(
        "value_zeroing",
        "Value zeroing",
        rollout.value_zeroing,
        "L",
        "Mohebbi et al. 2023",
        "attention",
        signed=False,
        families=TRANSFORMER,
    ),
)
