"""Docstrings and signatures as Markdown: what is between backquotes is code, `name: what it is` a list of terms."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, get_args, get_origin

from compendium.site.markdown import escape

CODE = re.compile(r"(`[^`]+`)")
TERM = re.compile(r"(?:^|(?<=[.;] ))(?:(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*): |(?P<raises>Raises) (?=[A-Z]))")
CONSTANT = re.compile(r"\b[A-Z][A-Z_]{2,}\b")
WIDTH = 74  # characters that a listing shows without scrolling


def inline(text: str) -> str:
    """Plain text as Markdown on one line; what it has between backquotes is code."""
    flat = " ".join(text.split())
    parts = CODE.split(flat)
    return "".join(part if at % 2 else _escape_between(part, first=at == 0) for at, part in enumerate(parts))


def _escape_between(part: str, first: bool) -> str:
    """Plain text that may begin or end beside code, whose spaces there are kept."""
    inner = part.strip(" ")
    if not inner:
        return part
    # where it does not start the line, nothing in it can begin a list
    shown = escape(inner) if first else escape(f"a{inner}")[1:]
    return part[: len(part) - len(part.lstrip(" "))] + shown + part[len(part.rstrip(" ")) :]


def code(text: str) -> str:
    """Text as inline code, with as many backquotes around it as it needs."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, room = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{room}{text}{room}{fence}"


def first_line(documented: Any) -> str:
    """The first sentence or line of a docstring, as the house writes them."""
    return inspect.cleandoc(documented.__doc__ or "").partition("\n")[0]


def describe(doc: str, names: Iterable[str]) -> str:
    """A docstring as Markdown blocks. names: arguments or fields; where one is explained, a list of terms starts."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(doc))
    return "\n\n".join(_paragraph(" ".join(text.split()), set(names)) for text in paragraphs)


def _paragraph(text: str, names: set[str]) -> str:
    """A paragraph: what stands before the first term, then terms with what is said of them."""
    found = [m for m in TERM.finditer(text) if m["raises"] or names.issuperset(m["names"].split(", "))]
    if not found:
        return inline(_mark_names(text, names))
    ends = [*(m.start() for m in found[1:]), len(text)]
    blocks = [inline(_mark_names(text[: found[0].start()], names))] if found[0].start() else []
    for match, end in zip(found, ends, strict=True):
        term = match["raises"] or ", ".join(map(code, match["names"].split(", ")))
        said = text[match.end() : end].strip().rstrip(";")
        blocks.append(f"{term}\n:   {inline(_mark_names(said, names))}")
    return "\n\n".join(blocks)


def _mark_names(text: str, names: set[str]) -> str:
    """The text with backquotes around names that are no plain words, such as path_steps."""
    marked = [name for name in names if "_" in name]
    if not marked:
        return text
    word = re.compile(rf"\b({'|'.join(map(re.escape, sorted(marked, key=len, reverse=True)))})\b")
    return "".join(part if part.startswith("`") else word.sub(r"`\1`", part) for part in CODE.split(text))


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
