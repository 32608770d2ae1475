"""The choices in which text and code of Poerner et al. (2018) differ, and where they are tried."""

import re
from typing import get_args

from attreval.methods import METHODS
from attreval.methods.method import Budget
from compendium.config import Profile, Run
from compendium.papers.common.runs import OtherChoice
from compendium.workflow.step import Step

BEARS_UPON = {  # field of Budget: the names of the methods that it moves
    "limsse_sampling": "limsse_.*",
    "limsse_solver": "limsse_.*",
    "decomposition_output_gate": "decomposition",
    "windows": "(occlusion|omission)_[37]",
}
# architectures to which all methods of these choices apply
GATED = ("gru", "lstm", "qgru", "qlstm")


def other_choices(budget: Budget) -> list[OtherChoice]:
    """Each value of the fields of BEARS_UPON that is not this budget's."""
    choices = []
    for field, names in BEARS_UPON.items():
        methods = tuple(name for name in METHODS if re.fullmatch(names, name))
        texts = None if field == "windows" else 8
        for value in get_args(Budget.model_fields[field].annotation) or (False, True):
            if value != getattr(budget, field):
                other = budget.changed(**{field: value})
                choices.append(OtherChoice(field, value, methods, other, texts))
    return choices


def tried_run(profile: Profile) -> Run | None:
    """The run on whose first texts other choices are tried.

    A gated model that points, and reads the shortest texts.
    """
    models = profile.models
    runs = profile.explained_runs("pointing")
    gated = [run for run in runs if models[run[1]].architecture in GATED]
    return min(gated, key=lambda run: models[run[1]].max_length, default=None)


def choices_of(step: Step) -> list[OtherChoice]:
    """The choices that a step of notebook 03 tries; none but of the run that they are tried on."""
    run = step.parameters.run()[:3]
    tried = tried_run(step.profile) == run
    return other_choices(step.profile.explaining_of(run[0])) if tried else []
