"""The strict, frozen base of every section of a profile, and its errors as sentences."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

# the bounds of numbers
Count = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Size = Annotated[float, Field(gt=0)]
Ratio = Annotated[float, Field(gt=0, le=1)]


class Section(BaseModel):
    """A part of a profile, declared once; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def changed(self, **changes: Any) -> Self:
        """The same settings with some changed, checked again."""
        return type(self).model_validate(self.model_dump() | changes)


def explain_errors(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """Each problem of a model that was read as one sentence; see explain_error."""
    return [explain_error(dict(problem), root) for problem in error.errors()]


def explain_error(problem: dict, root: type[BaseModel]) -> str:
    """One pydantic problem as one sentence, with the allowed keys where a key is unknown.

    Args:
        problem: As pydantic lists it.
        root: The model that was read.
    """
    where = ".".join(str(part) for part in problem["loc"]) or root.__name__.lower()
    if problem["type"] != "extra_forbidden":
        said = problem["msg"].removeprefix("Value error, ")
        # of a section, or of what is long, the message itself says what came
        given = problem["input"]
        shown = not isinstance(given, (dict, BaseModel)) and len(repr(given)) <= 80
        return f"{where}: {said}" + (f" (got {given!r})" if shown else "")
    section = root
    for part in problem["loc"][:-1]:
        if part in section.model_fields:
            option = section.model_fields[part].annotation
            for one in (option, *getattr(option, "__args__", ())):
                if isinstance(one, type) and issubclass(one, BaseModel):
                    section = one
                    break
    return f"{where}: unknown key; allowed are: {', '.join(section.model_fields)}"
