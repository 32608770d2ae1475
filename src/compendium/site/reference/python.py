"""The page of Python's way in: every public name with its signature and docstring, and the records that it takes."""

from __future__ import annotations

import inspect
from typing import Any

import attreval
from attreval.api import evaluating, explaining, explanation, explanations, loading
from attreval.methods import METHODS
from attreval.methods.method import Budget, Method, UnitSettings
from attreval.metrics import METRICS
from attreval.metrics.metric import Metric
from compendium.site.reference.docstrings import code, constants, describe, signature

ORDER = tuple(module.__name__ for module in (loading, explaining, evaluating, explanation, explanations))
RECORDS = (Budget, UnitSettings, Method, Metric)


def public_names() -> dict[str, Any]:
    """What `attreval` offers, by name, in the order in which it is used: loaded, explained, evaluated, looked at."""
    offered = {name: getattr(attreval, name) for name in attreval.__all__ if not name.startswith("_")}

    def place(name: str) -> tuple[int, str]:
        module = getattr(offered[name], "__module__", "")
        return (ORDER.index(module) if module in ORDER else len(ORDER), name)

    return {name: offered[name] for name in sorted(offered, key=place)}


def python_markdown() -> str:
    """The page's body: functions, what they give, the records that they take, and the registries."""
    offered = public_names()
    functions = {name: one for name, one in offered.items() if not inspect.isclass(one)}
    classes = {name: one for name, one in offered.items() if inspect.isclass(one)}
    blocks = ["# Functions", *(_function(f"attreval.{name}", name, one) for name, one in functions.items())]
    blocks += ["# What they give", *(_class(name, one) for name, one in classes.items())]
    blocks += ["# Registries and their records", *_registries(), *(_record(one) for one in RECORDS)]
    return "\n\n".join(blocks) + "\n"


def _function(shown: str, name: str, function: Any) -> str:
    """A section of a function."""
    parts = [f"## {name} {{#api-{name}}}", _listing(signature(shown, function)), describe(function.__doc__)]
    return "\n\n".join([*parts, *filter(None, [constants(function)])])


def _listing(text: str) -> str:
    return f"```python\n{text}\n```"


def _class(name: str, documented: type) -> str:
    """A section of a class that users are given: what it is, and its members."""
    return "\n\n".join(
        [
            f"## {name} {{#api-{name}}}",
            describe(documented.__doc__),
            *(_member(name, one, member) for one, member in public_members(documented).items()),
        ]
    )


def public_members(documented: type) -> dict[str, Any]:
    """The properties and methods that a class defines itself, but for those whose names begin with an underscore."""
    return {
        name: member
        for name, member in vars(documented).items()
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member))
    }


def _member(owner: str, name: str, member: Any) -> str:
    """A property or method: its signature as the term, its docstring below."""
    function = member.fget if isinstance(member, property) else member
    shown = signature(name, function)
    if isinstance(member, property):
        shown = name + shown.removeprefix(f"{name}()").replace(" -> ", ": ")
    blocks = describe(function.__doc__)
    told = "\n\n".join(filter(None, [blocks, constants(function)]))
    indented = "\n".join(f"    {line}" if line else "" for line in told.splitlines()).lstrip()
    return f"[{code(' '.join(shown.split()))}]{{#api-{owner}-{name}}}\n:   {indented}"


def _record(documented: type) -> str:
    """A section of a record that users fill in."""
    name = documented.__name__
    listing = _listing(f"from {documented.__module__} import {name}\n\n{signature(name, documented)}")
    return "\n\n".join([f"## {name} {{#api-{name}}}", listing, describe(documented.__doc__)])


def _registries() -> list[str]:
    """What METHODS and METRICS are, with the way to their cards."""
    rows = (("METHODS", METHODS, Method, "methods"), ("METRICS", METRICS, Metric, "metrics"))
    return [
        f"## {name} {{#api-{name}}}\n\n"
        f"`from {_home_of(record)} import {name}`: name to [{code(record.__name__)}](#api-{record.__name__}), "
        f"{len(registry)} of them; each has a [card]({page}.qmd)."
        for name, registry, record, page in rows
    ]


def _home_of(record: type) -> str:
    """The module that a registry of such records is imported from."""
    return "attreval.methods" if record is Method else "attreval.metrics"
