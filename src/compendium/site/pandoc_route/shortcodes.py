"""Shortcodes of a page: its includes, numbers and embedded outputs, filled in.

Only three shortcodes exist, with Quarto's meaning: `include` (alone on a line, its path relative to
the page that is rendered, or to the project where it starts with a slash), `var`, and `embed`
(alone on a line).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from compendium.site.markdown import ReportError, hint

SHORTCODE = re.compile(r"\{\{<\s*(\S+)\s*(.*?)\s*>\}\}")
KNOWN = ("embed", "include", "var")


@dataclass(frozen=True)
class Line:
    """A line of an expanded page and where it comes from. place: `file:line` below the project."""

    text: str
    place: str


@dataclass(frozen=True)
class Expanded:
    """A page with every shortcode filled in."""

    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines) + "\n"

    def where(self, needle: str) -> str:
        """The `file:line` of the first line that holds `needle` as a whole word."""
        word = re.compile(re.escape(needle) + r"(?![\w-])")
        return next((line.place for line in self.lines if word.search(line.text)), "?")


class PlacedError(ReportError):
    """A ReportError whose message already starts with its file and line."""


def expand(
    page: Path, home: Path, variables: Mapping[str, str], embed: Callable[[Path, str], str]
) -> Expanded:
    """Fill in the shortcodes of a page. `embed(notebook path, label)` gives the Markdown of a
    cell's outputs.

    Raises ReportError (file and line first) for an unknown shortcode, key, file, notebook or label,
    and for files that include each other.
    """

    def below(path: Path) -> str:
        return path.relative_to(home).as_posix()

    def resolve(address: str) -> Path:
        address = address.strip("\"'")
        path = (
            home / address.lstrip("/") if address.startswith("/") else page.parent / address
        ).resolve()
        if not path.is_relative_to(home):
            raise ReportError(f"{address!r} leads out of the project")
        return path

    def read(path: Path, above: tuple[Path, ...]) -> Iterator[Line]:
        """The lines of one file; above: the files that include it, outermost first."""
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            place = f"{below(path)}:{number}"
            try:
                found = SHORTCODE.fullmatch(text.strip())
                name, argument = found.groups() if found else ("", "")
                if name == "include":
                    yield from include(argument, (*above, path))
                elif name == "embed":
                    yield from (Line(made, place) for made in embed_cell(argument).splitlines())
                else:
                    yield Line(SHORTCODE.sub(lambda found: fill(found, variables), text), place)
            except PlacedError:
                raise
            except ReportError as error:
                raise PlacedError(f"{place}: {error}") from None

    def include(argument: str, chain: tuple[Path, ...]) -> Iterator[Line]:
        """The lines of an included file, with an empty line after them."""
        target = resolve(argument)
        if target in chain:
            names = map(below, (*chain[chain.index(target) :], target))
            raise ReportError(f"files include each other: {' -> '.join(names)}")
        if not target.is_file():
            siblings = [file.name for file in target.parent.glob("*") if file.is_file()]
            raise ReportError(
                f"include of {argument!r}: no file {below(target)} (paths are relative to the "
                "page, "
                f"{below(page)}); in that folder {hint(target.name, siblings)}"
            )
        yield from read(target, chain)
        yield Line("", f"{below(target)}:end")

    def embed_cell(argument: str) -> str:
        address, _, label = argument.partition("#")
        if not label:
            raise ReportError(f"embed of {argument!r} names no cell; write notebook.ipynb#label")
        notebook = resolve(address)
        if not notebook.is_file():
            names = [file.name for file in notebook.parent.glob("*.ipynb")]
            raise ReportError(
                f"embed of {argument!r}: no notebook {below(notebook)}; "
                f"{hint(notebook.name, names)}"
            )
        return embed(notebook, label)

    return Expanded(tuple(read(page, ())))


def fill(found: re.Match, variables: Mapping[str, str]) -> str:
    """The text of a shortcode inside a line."""
    name, argument = found.groups()
    if name not in KNOWN:
        raise ReportError(f"unknown shortcode {name!r} in {found.group(0)}; {hint(name, KNOWN)}")
    if name != "var":
        raise ReportError(f"{found.group(0)} must stand alone on its line")
    if argument not in variables:
        raise ReportError(f"no number {argument!r} in _variables.yml; {hint(argument, variables)}")
    return variables[argument]
