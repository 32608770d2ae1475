"""Docstrings in Google style, and signatures, as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from textwrap import dedent
from typing import Annotated, Any, get_args, get_origin

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
    arguments, keyword_only = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            arguments.append("*")
            keyword_only = True
        arguments.append(_argument(parameter))
    given = found.return_annotation
    returned = "" if given is inspect.Signature.empty or inspect.isclass(called) else f" -> {_type(given)}"
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returned}"


def _argument(parameter: inspect.Parameter) -> str:
    """One argument with its type and default."""
    text = parameter.name
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {_type(parameter.annotation)}"
    if parameter.default is inspect.Parameter.empty:
        return text
    default = f"{type(parameter.default).__name__}()" if _has_fields(parameter.default) else repr(parameter.default)
    return f"{text} = {'...' if default.startswith('<') else default}"


def _has_fields(value: Any) -> bool:
    """Whether a value is a record of settings, whose own defaults are told elsewhere."""
    return hasattr(type(value), "model_fields")


def _type(annotation: Any) -> str:
    """A type as the source writes it, without the bounds of settings."""
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Annotated:
        return _type(get_args(annotation)[0])
    return annotation.__name__ if inspect.isclass(annotation) else inspect.formatannotation(annotation)
