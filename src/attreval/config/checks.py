"""What can be wrong with a profile as a whole, and how is it said?"""

from __future__ import annotations

from pydantic import BaseModel


def check_rows(profile, task: str) -> None:
    """Raise ValueError where a task lacks the models that read it, or the rows that train them."""
    spec, parent = profile.tasks[task], profile.read_by(task)
    given = [name for name in ("train_rows", "dev_rows", "test_rows") if getattr(spec, name) is not None]
    if parent == task:
        if len(given) < 3:
            raise ValueError(f"task {task!r} needs train_rows, dev_rows and test_rows; it has {given}")
        return
    if given:
        raise ValueError(f"task {task!r} is read by the models of {parent!r}: it takes no {given[0]}")
    read = profile.tasks.get(parent)
    for name, values in (("models", spec.models), ("seeds", spec.seeds)):
        there = getattr(read, name) if read else []
        if missing := [value for value in values if value not in there]:
            raise ValueError(
                f"task {task!r} is read by the models of {parent!r}, whose {name} are {there}; got {missing[0]!r}"
            )


def check_keys(whose: str, part: str, given: dict, schema: type[BaseModel]) -> None:
    """Raise ValueError for a key that a section does not have."""
    if unknown := [name for name in given if name not in schema.model_fields]:
        allowed = ", ".join(schema.model_fields)
        raise ValueError(f"{whose}: unknown {part} key {unknown[0]!r}; allowed are: {allowed}")


def explain_error(problem: dict, root: type[BaseModel]) -> str:
    """One pydantic problem as one sentence, with the allowed keys where a key is unknown."""
    where = ".".join(str(part) for part in problem["loc"]) or root.__name__.lower()
    if problem["type"] != "extra_forbidden":
        return f"{where}: {problem['msg'].removeprefix('Value error, ')} (got {problem['input']!r})"[:1200]
    section = root
    for part in problem["loc"][:-1]:
        options = [f.annotation for name, f in section.model_fields.items() if name == part]
        for option in options:
            args = [option, *getattr(option, "__args__", ())]
            section = next((a for a in args if isinstance(a, type) and issubclass(a, BaseModel)), section)
    return f"{where}: unknown key; allowed are: {', '.join(section.model_fields)}"
