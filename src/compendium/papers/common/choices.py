"""Choices of explaining in which a paper's text and its released code differ, tried on a few texts of one model.

Notebook 03 explains these texts once more under every other choice, since it has the model at hand; notebook 04 says
how far that moves hits (see papers.poerner2018.choices). The choices are the fields of config.variants.
"""

from __future__ import annotations

from dataclasses import dataclass

from attreval.methods import METHODS
from attreval.methods.method import Budget
from compendium.config import Profile
from compendium.config.variants import VARIANTS

PAPER = "poerner2018"
FEW = 8  # texts
GATED = ("gru", "lstm", "qgru", "qlstm")  # architectures to which all these methods apply


@dataclass(frozen=True)
class OtherChoice:
    """field: of Budget. value: other than the profile's. methods: those that it bears upon. budget: with this value."""

    field: str
    value: object
    methods: tuple[str, ...]
    budget: Budget

    @property
    def part(self) -> str:
        """What the file of its attributions is named by."""
        return f"{self.field}-{self.value}".lower()


def other_choices(budget: Budget) -> list[OtherChoice]:
    """Each value that a variant of the paper gives to a field of Budget and that is not this budget's."""
    values: dict[str, dict] = {}
    for sections in VARIANTS[PAPER].values():
        for field, value in sections["explain"].items():
            values.setdefault(field, {})[value] = None
    return [
        OtherChoice(field, value, _methods_of(field), budget.changed(**{field: value}))
        for field, known in values.items()
        for value in known
        if value != getattr(budget, field)
    ]


def _methods_of(field: str) -> tuple[str, ...]:
    """The methods that a field is named after: limsse_class, limsse_logit and limsse_probability for limsse_solver."""
    return tuple(name for name in METHODS if name.split("_")[0] == field.split("_")[0])


def tried_run(profile: Profile) -> tuple[str, str, int] | None:
    """The run on whose first texts other choices are tried: a gated model that points, and reads the shortest texts."""
    runs = [r for r in profile.explained_runs("pointing") if profile.models[r[1]].architecture in GATED]
    return min(runs, key=lambda run: profile.models[run[1]].max_length, default=None)
