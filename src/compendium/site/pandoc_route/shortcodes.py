"""Shortcodes of a page: its includes, numbers and embedded outputs, filled in.

Only four shortcodes exist, as in Quarto: `include` (alone on a line, its path relative to the page
that is rendered, or to the project where it starts with a slash), `made`, which is an include of
what staging makes (_extensions/made), `var`, and `embed` (alone on a line).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from compendium.site.markdown import ReportError, hint

SHORTCODE = re.compile(r"\{\{<\s*(\S+)\s*(.*?)\s*>\}\}")
KNOWN = ("embed", "include", "made", "var")


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


@dataclass(frozen=True)
class Page:
    """A page whose shortcodes are to be filled in.

    embed: gives the Markdown of a cell's outputs, from the notebook's path and the cell's label.
    """

    source: Path
    home: Path
    variables: Mapping[str, str]
    embed: Callable[[Path, str], str]

    def expand(self) -> Expanded:
        """The page with every shortcode filled in.

        Raises ReportError (file and line first) for an unknown shortcode, key, file, notebook or
        label, and for files that include each other.
        """
        return Expanded(tuple(self._read(self.source, ())))

    def _read(self, path: Path, above: tuple[Path, ...]) -> Iterator[Line]:
        """The lines of one file; above: the files that include it, outermost first."""
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            place = f"{self._below(path)}:{number}"
            try:
                found = SHORTCODE.fullmatch(text.strip())
                name, argument = found.groups() if found else ("", "")
                if name in ("include", "made"):
                    yield from self._include(argument, (*above, path))
                elif name == "embed":
                    for made in self._embed_cell(argument).splitlines():
                        yield Line(made, place)
                else:
                    yield Line(fill(text, self.variables), place)
            except PlacedError:
                raise
            except ReportError as error:
                raise PlacedError(f"{place}: {error}") from None

    def _include(self, argument: str, chain: tuple[Path, ...]) -> Iterator[Line]:
        """The lines of an included file, with an empty line after them."""
        target = self._resolve(argument)
        if target in chain:
            names = map(self._below, (*chain[chain.index(target) :], target))
            raise ReportError(f"files include each other: {' -> '.join(names)}")
        if not target.is_file():
            siblings = [file.name for file in target.parent.glob("*") if file.is_file()]
            raise ReportError(
                f"include of {argument!r}: no file {self._below(target)} (paths are relative to "
                f"the page, {self._below(self.source)}); in that folder "
                f"{hint(target.name, siblings)}"
            )
        yield from self._read(target, chain)
        yield Line("", f"{self._below(target)}:end")

    def _embed_cell(self, argument: str) -> str:
        address, _, label = argument.partition("#")
        if not label:
            raise ReportError(f"embed of {argument!r} names no cell; write notebook.ipynb#label")
        path = self._resolve(address)
        if not path.is_file():
            near = hint(path.name, [file.name for file in path.parent.glob("*.ipynb")])
            raise ReportError(f"embed of {argument!r}: no notebook {self._below(path)}; {near}")
        return self.embed(path, label)

    def _resolve(self, address: str) -> Path:
        address = address.strip("\"'")
        folder = self.home if address.startswith("/") else self.source.parent
        path = (folder / address.lstrip("/")).resolve()
        if not path.is_relative_to(self.home):
            raise ReportError(f"{address!r} leads out of the project")
        return path

    def _below(self, path: Path) -> str:
        return path.relative_to(self.home).as_posix()


def fill(text: str, variables: Mapping[str, str]) -> str:
    """A text with the numbers that its shortcodes name."""

    def number_of(found: re.Match[str]) -> str:
        name, argument = found.groups()
        if name not in KNOWN:
            raise ReportError(f"unknown shortcode {name!r} in {found[0]}; {hint(name, KNOWN)}")
        if name != "var":
            raise ReportError(f"{found[0]} must stand alone on its line")
        if argument not in variables:
            near = hint(argument, variables)
            raise ReportError(f"no number {argument!r} in _variables.yml; {near}")
        return variables[argument]

    return SHORTCODE.sub(number_of, text)
