"""What code does a notebook run? The modules of this package that it imports, and what those import in turn.

The workflow makes a step run again when one of these files changes, and not when another does.
"""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat

PACKAGE = Path(__file__).parent.parent


def imported(source: str) -> set[str]:
    """Names of the modules of this package that a source imports anywhere, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.split(".")[0] == PACKAGE.name}


def file_of(module: str) -> Path | None:
    """The file of a module of this package, None where the name is not a module (but a function in one, say)."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


def closure(sources: list[str]) -> list[Path]:
    """All files of this package that the sources need, directly or not, in a fixed order."""
    found: set[Path] = set()
    todo = list(sources)
    while todo:
        for module in imported(todo.pop()):
            parts = module.split(".")
            for i in range(1, len(parts) + 1):  # importing a.b.c runs a and a.b as well
                path = file_of(".".join(parts[:i]))
                if path and path not in found:
                    found.add(path)
                    todo.append(path.read_text(encoding="utf-8"))
    return sorted(found)


def code_of(notebook: Path) -> str:
    """The code of a notebook, cell after cell."""
    cells = nbformat.read(notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def notebook_files(notebook: Path) -> list[str]:
    """The notebook and every file of the package that it runs."""
    return [str(notebook), *map(str, closure([code_of(notebook)]))]
