"""The page of the Python interface: every public name with its signature and docstring, and the records it takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from textwrap import dedent, indent
from typing import Annotated, Any, get_args, get_origin

import attreval
from attreval.api import evaluating, explaining, explanation, explanations, loading
from attreval.methods import METHODS
from attreval.methods.method import Budget, Method, UnitSettings
from attreval.metrics import METRICS
from attreval.metrics.metric import Metric
from compendium.site.markdown import escape

CODE = re.compile(r"(`[^`]+`)")
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Source|Note|Example):[ \t]*$", re.M)
LISTED = ("Args", "Attributes", "Raises")  # sections of `name: what it is`
ENTRY = re.compile(r"^([\w.*]+(?:, [\w.*]+)*)(?: \([^)]*\))?:\s+", re.M)
CONSTANT = re.compile(r"\b[A-Z][A-Z_]{2,}\b")
WIDTH = 74  # characters that a listing shows without scrolling


def inline(text: str, at_start: bool = True) -> str:
    """Plain text as Markdown on one line; what it has between backquotes is code. at_start: see markdown.escape."""
    flat = re.sub(r"\s+", " ", text)
    parts = CODE.split(flat.strip() if at_start else flat)
    return "".join(part if at % 2 else _keep_end(part, at_start and not at) for at, part in enumerate(parts))


def _keep_end(part: str, at_start: bool) -> str:
    """Escaped text with the space at its end, behind which code may follow."""
    return escape(part, at_start) + " " * (at_start and part.endswith(" "))


def code(text: str) -> str:
    """Text as inline code, with as many backquotes around it as it needs."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, room = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{room}{text}{room}{fence}"


def describe(doc: str) -> str:
    """A docstring in Google style as Markdown blocks: paragraphs, and a list of terms for each section."""
    before, *parts = SECTION.split(inspect.cleandoc(doc))
    blocks = _paragraphs(before)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        section, *after = re.split(r"\n(?=\S)", body, maxsplit=1)  # what is indented, then paragraphs that are not
        if title in LISTED:
            _, *entries = ENTRY.split(dedent(section))
            names = [", ".join(map(code, name.split(", "))) for name in entries[::2]]
            if title == "Raises":
                names = [f"Raises {name}" for name in names]
            blocks += [f"{name}\n:   {inline(said)}" for name, said in zip(names, entries[1::2], strict=True)]
        else:
            blocks.append(f"{title}\n:   " + "\n\n    ".join(_paragraphs(dedent(section))))
        blocks += _paragraphs("".join(after))
    return "\n\n".join(blocks)


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each on a line of Markdown."""
    return [inline(paragraph) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def constants(function: Callable) -> str:
    """A sentence for each tuple that a function's docstring names by its constant, with what is in it; or nothing."""
    values = getattr(inspect.unwrap(function), "__globals__", {})
    named = [name for name in dict.fromkeys(CONSTANT.findall(function.__doc__ or "")) if name in values]
    tuples = [name for name in named if isinstance(values[name], tuple)]
    return "\n\n".join(f"{code(name)}: {', '.join(code(str(one)) for one in values[name])}." for name in tuples)


def signature(name: str, called: Callable) -> str:
    """`name(argument: type = default, ...) -> type` as Python writes it, an argument a line where one line is short."""
    found = inspect.signature(called)
    given = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    arguments = [_argument(one) for one in given]
    if keyword_only := [at for at, one in enumerate(given) if one.kind is one.KEYWORD_ONLY]:
        arguments.insert(keyword_only[0], "*")
    unknown = found.return_annotation is inspect.Signature.empty or inspect.isclass(called)
    returned = "" if unknown else f" -> {_type(found.return_annotation)}"
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returned}"


def _argument(parameter: inspect.Parameter) -> str:
    """One argument with its type and default; of a record of settings, whose own are told elsewhere, its type alone."""
    text, default = parameter.name, parameter.default
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {_type(parameter.annotation)}"
    if default is inspect.Parameter.empty:
        return text
    shown = f"{type(default).__name__}()" if hasattr(type(default), "model_fields") else repr(default)
    return f"{text} = {'...' if shown.startswith('<') else shown}"


def _type(annotation: Any) -> str:
    """A type as the source writes it, without the bounds of settings."""
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Annotated:
        return _type(get_args(annotation)[0])
    return annotation.__name__ if inspect.isclass(annotation) else inspect.formatannotation(annotation)


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
    functions = [_function(name, one) for name, one in offered.items() if not inspect.isclass(one)]
    classes = [_class(name, one) for name, one in offered.items() if inspect.isclass(one)]
    blocks = ["# Functions", *functions, "# What they give", *classes, "# Registries and their records"]
    blocks += [_registry("METHODS", METHODS, Method, "methods"), _registry("METRICS", METRICS, Metric, "metrics")]
    return "\n\n".join([*blocks, *map(_record, RECORDS)]) + "\n"


def _section(name: str, *blocks: str) -> str:
    """A section that others can link to, of those blocks that are not empty."""
    return "\n\n".join(filter(None, [f"## {name} {{#api-{name}}}", *blocks]))


def _function(name: str, function: Any) -> str:
    """A section of a function."""
    listing = f"```python\n{signature(f'attreval.{name}', function)}\n```"
    return _section(name, listing, describe(function.__doc__), constants(function))


def _class(name: str, documented: type) -> str:
    """A section of a class that users are given: what it is, and its members."""
    members = [_member(name, one, member) for one, member in public_members(documented).items()]
    return _section(name, describe(documented.__doc__), *members)


def _record(documented: type) -> str:
    """A section of a record that users fill in."""
    name = documented.__name__
    lines = f"from {documented.__module__} import {name}\n\n{signature(name, documented)}"
    return _section(name, f"```python\n{lines}\n```", describe(documented.__doc__))


def _registry(name: str, registry: Any, record: type, page: str) -> str:
    """What METHODS or METRICS is, with the way to its cards."""
    kind = record.__name__
    told = f"`from attreval.{page} import {name}`: name to [{code(kind)}](#api-{kind}), {len(registry)} of them"
    return _section(name, f"{told}; each has a [card]({page}.qmd).")


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
    told = "\n\n".join(filter(None, [describe(function.__doc__), constants(function)]))
    return f"[{code(' '.join(shown.split()))}]{{#api-{owner}-{name}}}\n:   {indent(told, '    ').lstrip()}"
