"""What each notebook may be given: typed parameters; a wrong one is an error."""

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import ClassVar

from pydantic import ConfigDict, Field, ValidationError

from attreval.core.section import Natural, Section


class Parameters(Section):
    """What every notebook takes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    # the parameters that tell its runs in one profile apart
    identity: ClassVar[tuple[str, ...]] = ()
    profile: str = "quick"

    def run(self) -> tuple:
        """What tells this run from others of the same profile: task, model, seed and part."""
        return tuple(getattr(self, name) for name in self.identity)


class OneModel(Parameters):
    """A notebook that runs once for each task, model and seed."""

    task: str = "snli"
    model: str = "minilm"
    identity: ClassVar[tuple[str, ...]] = ("task", "model", "seed")
    seed: Natural = 1


class Explaining(OneModel):
    """03: one shard of the instances. instances and methods replace the profile's."""

    identity: ClassVar[tuple[str, ...]] = (*OneModel.identity, "shard")
    shard: Natural = 0
    instances: int | None = Field(None, ge=1)
    methods: list[str] | None = Field(None, min_length=1)

    def run(self) -> tuple:
        custom = self.instances is not None or self.methods is not None
        *one_model, shard = super().run()
        return (*one_model, f"{shard}-custom" if custom else shard)


class ExplanationPart(OneModel):
    """07_sun2024_explanations: one part of the instances that the diagnosis explains."""

    identity: ClassVar[tuple[str, ...]] = (*OneModel.identity, "part")
    part: Natural = 0


NOTEBOOKS: dict[str, type[Parameters]] = {
    "01_data": Parameters,
    "02_train": OneModel,
    "03_explain": Explaining,
    "03_overview": Parameters,
    "04_poerner2018": Parameters,
    "05_kamp2023": Parameters,
    "05_kamp2023_seeds": Parameters,
    "06_zhao2023": Parameters,
    "07_sun2024_agents": OneModel,
    "07_sun2024_explanations": ExplanationPart,
    "07_sun2024": Parameters,
    "08_joint": Parameters,
    "08_joint_models": Parameters,
    "08_joint_settings": Parameters,
    "08_joint_crossed": Parameters,
    "09_planted": Parameters,
}
# what IPython itself puts into a namespace
OF_THE_SHELL = {"In", "Out", "get_ipython", "exit", "quit", "open"}


def check_parameters(notebook: str, given: dict) -> Parameters:
    """The parameters of a notebook, checked; ValueError names the allowed ones and their types."""
    if notebook not in NOTEBOOKS:
        raise ValueError(f"unknown notebook {notebook!r}; there are: {', '.join(NOTEBOOKS)}")
    schema = NOTEBOOKS[notebook]
    try:
        return schema(**given)
    except ValidationError as error:
        problems = []
        for one in error.errors():
            said = f"{one['msg']} (got {one['input']!r})"
            if one["type"] == "extra_forbidden":
                said = "unknown parameter"
            problems.append(f"{'.'.join(map(str, one['loc']))}: {said}")
        types = [f"{name}: {field.annotation}" for name, field in schema.model_fields.items()]
        allowed = ", ".join(types)
        allowed = allowed.replace("<class '", "").replace("'>", "")
        raise ValueError(f"{notebook}: {'; '.join(problems)}. Allowed are: {allowed}") from None


def read_namespace(namespace: dict) -> dict:
    """The values that a notebook's parameter cells have set, without modules and functions."""
    values = {}
    for name, value in namespace.items():
        imported = isinstance(value, (ModuleType, FunctionType, BuiltinFunctionType, type))
        if not (imported or name.startswith("_") or name in OF_THE_SHELL):
            values[name] = value
    return values
