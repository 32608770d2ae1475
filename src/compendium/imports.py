"""Imports: the files of the library and the study that a source needs, directly or through what it imports."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import attreval

PACKAGES = {path.name: path for path in (Path(attreval.__file__).parent, Path(__file__).parent)}


def closure(sources: Iterable[str], leave_out: Sequence[str] = ()) -> list[Path]:
    """All files of the two packages that the sources need, in a fixed order.

    leave_out: modules, and whole packages, that are not followed. Nor is what a package itself offers by name (its
    __init__): every import of a part runs it, and it names nearly everything.
    """
    found: set[Path] = set()
    todo = [module for source in sources for module in _imported(source)]
    while todo:
        module = todo.pop()
        if any(module == name or module.startswith(f"{name}.") for name in leave_out):
            continue
        parts = module.split(".")
        for i in range(1, len(parts) + 1):  # importing a.b.c runs a and a.b as well
            path = _file_of(".".join(parts[:i]))
            if path and path not in found:
                found.add(path)
                if path.parent not in PACKAGES.values() or path.name != "__init__.py":
                    todo += _imported(path.read_text(encoding="utf-8"))
    return sorted(found)


def hash_files(files: Iterable[Path]) -> str:
    """One SHA-256 over the names and contents of files."""
    lines = [f"{module_name(path)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def module_name(path: Path) -> str:
    """The name by which a file of the packages is imported."""
    package = next(root for root in PACKAGES.values() if path.is_relative_to(root))
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


@cache
def _imported(source: str) -> frozenset[str]:
    """Names of the modules of the two packages that a source imports anywhere, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(name for name in names if name.split(".")[0] in PACKAGES)


def _file_of(module: str) -> Path | None:
    """The file of a module, None where the name is not a module (but a function in one, say)."""
    package, *rest = module.split(".")
    path = PACKAGES[package].joinpath(*rest)
    return next((found for found in (path.with_suffix(".py"), path / "__init__.py") if found.exists()), None)
