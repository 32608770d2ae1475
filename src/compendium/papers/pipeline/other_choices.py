"""The choices in which text and code of Poerner et al. (2018) differ, under each value."""

import re
from dataclasses import dataclass
from typing import get_args

from attreval.methods import METHODS
from attreval.methods.method import Budget
from compendium.config import Profile, Run

BEARS_UPON = {  # field of Budget: the names of the methods that it moves
    "limsse_sampling": "limsse_.*",
    "limsse_solver": "limsse_.*",
    "decomposition_output_gate": "decomposition",
    "windows": "(occlusion|omission)_[37]",
}
GATED = (
    "gru",
    "lstm",
    "qgru",
    "qlstm",
)  # architectures to which all methods of these choices apply


@dataclass(frozen=True)
class OtherChoice:
    """field: of Budget. value: other than the profile's. methods: those that it bears upon.

    budget: with this value.

    texts: of the first shard, as many as are explained again, None for all.
    """

    field: str
    value: object
    methods: tuple[str, ...]
    budget: Budget
    texts: int | None

    @property
    def part(self) -> str:
        """What the file of its attributions is named by."""
        return f"{self.field}-{self.value}".lower()


def other_choices(budget: Budget) -> list[OtherChoice]:
    """Each value of the fields of BEARS_UPON that is not this budget's."""
    choices = []
    for field, names in BEARS_UPON.items():
        methods = tuple(name for name in METHODS if re.fullmatch(names, name))
        texts = None if field == "windows" else 8
        for value in get_args(Budget.model_fields[field].annotation) or (False, True):
            if value != getattr(budget, field):
                choices.append(
                    OtherChoice(field, value, methods, budget.changed(**{field: value}), texts)
                )
    return choices


def tried_run(profile: Profile) -> Run | None:
    """The run on whose first texts other choices are tried.

    A gated model that points, and reads the shortest texts.
    """
    runs = [
        run
        for run in profile.explained_runs("pointing")
        if profile.models[run[1]].architecture in GATED
    ]
    return min(runs, key=lambda run: profile.models[run[1]].max_length, default=None)
