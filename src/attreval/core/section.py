"""Settings: the strict, frozen pydantic base of every section of a profile, and its errors as
sentences.
"""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of a profile, declared once; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def changed(self, **changes: Any) -> Self:
        """The same settings with some changed, checked again. ValidationError as when they are
        read.
        """
        return type(self).model_validate(self.model_dump() | changes)


def explain_error(problem: dict, root: type[BaseModel]) -> str:
    """One pydantic problem as one sentence, with the allowed keys where a key is unknown."""
    where = ".".join(str(part) for part in problem["loc"]) or root.__name__.lower()
    if problem["type"] != "extra_forbidden":
        said = problem["msg"].removeprefix("Value error, ")
        given = problem[
            "input"
        ]  # of a section, or of what is long, the message itself says what came
        shown = not isinstance(given, (dict, BaseModel)) and len(repr(given)) <= 80
        return f"{where}: {said}" + (f" (got {given!r})" if shown else "")
    section = root
    for part in problem["loc"][:-1]:
        options = [f.annotation for name, f in section.model_fields.items() if name == part]
        for option in options:
            args = [option, *getattr(option, "__args__", ())]
            section = next(
                (a for a in args if isinstance(a, type) and issubclass(a, BaseModel)), section
            )
    return f"{where}: unknown key; allowed are: {', '.join(section.model_fields)}"
