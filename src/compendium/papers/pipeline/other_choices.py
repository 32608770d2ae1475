"""The choices in which the text and the code of Poerner et al. (2018) differ, to be explained under both."""

from __future__ import annotations

from dataclasses import dataclass

from attreval.methods import METHODS
from attreval.methods.method import Budget
from compendium.config import Profile, Run
from compendium.config.variants import VARIANTS

PAPER = "poerner2018"  # whose other choices are tried
GATED = ("gru", "lstm", "qgru", "qlstm")  # architectures to which all methods of these choices apply


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
    """Each value that a variant of the paper gives to a field of Budget and that is not this budget's.

    Text and released code differ in them; notebook 04 says how far that moves hits (papers.poerner2018.choices). A
    field bears upon the methods that it is named after: limsse_solver upon limsse_class and limsse_logit.
    """
    settings = [pair for sections in VARIANTS[PAPER].values() for pair in sections["explain"].items()]
    return [
        OtherChoice(
            field,
            value,
            tuple(name for name in METHODS if name.split("_")[0] == field.split("_")[0]),
            budget.changed(**{field: value}),
        )
        for field in dict(settings)
        for value in dict.fromkeys(value for name, value in settings if name == field)
        if value != getattr(budget, field)
    ]


def tried_run(profile: Profile) -> Run | None:
    """The run on whose first texts other choices are tried: a gated model that points, and reads the shortest texts."""
    runs = [run for run in profile.explained_runs("pointing") if profile.models[run[1]].architecture in GATED]
    return min(runs, key=lambda run: profile.models[run[1]].max_length, default=None)
