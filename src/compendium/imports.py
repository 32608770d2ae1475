"""Imports: the files of the library and the study that a source needs, also by way of others."""

import ast
import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import attreval

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PACKAGES = {path.name: path for path in (Path(attreval.__file__).parent, Path(__file__).parent)}


def closure(sources: Iterable[str], leave_out: Sequence[str] = ()) -> list[Path]:
    """All files of the two packages that the sources need, in a fixed order.

    leave_out: modules, and whole packages, that are not followed. Nor is what a package itself
    offers by name (its __init__): every import of a part runs it, and it names nearly everything.
    Who imports what a folder's __init__ collects from its files (such as METRICS) needs all of
    them; who imports one of the files does not.
    """
    found = set()
    todo = [module for source in sources for module in _imported(source)[0]]
    seen = set()
    left_out = tuple(f"{name}." for name in leave_out)
    while todo:
        module = todo.pop()
        if module in seen or f"{module}.".startswith(left_out):
            continue
        seen.add(module)
        parts = module.split(".")
        last = None
        for i in range(1, len(parts) + 1):  # importing a.b.c runs a and a.b as well
            path = _find(_folder(".".join(parts[:i])))
            last = path or last
            if path and path not in found:
                found.add(path)
                if not _is_root(path):
                    todo += _imported(path.read_text(encoding="utf-8"))[0]
        if last and not path and not _is_root(last):
            # a name in a module, perhaps one that it collects
            for folder in _imported(last.read_text(encoding="utf-8"))[1]:
                todo += _members(folder)
    return sorted(found)


def _members(folder: str) -> list[str]:
    """The modules of a folder that offer something by a decorator."""
    return [
        f"{folder}.{path.stem}"
        for path in sorted(_folder(folder).glob("[!_]*.py"))
        if _offers(path.read_text(encoding="utf-8"))
    ]


@cache
def _offers(source: str) -> bool:
    """Whether it imports a decorator named like its module, or uses one that takes a title."""
    if any(re.search(r"\.(\w+)\.\1$", name) for name in _imported(source)[0]):
        return True
    for node in ast.parse(source).body:
        for call in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            title = call.args[0] if isinstance(call, ast.Call) and call.args else None
            if isinstance(title, ast.Constant) and isinstance(title.value, str):
                return True
    return False


def code_digest(files: Iterable[Path]) -> str:
    """One SHA-256 over the names of files and their code, without comments and docstrings."""
    lines = [
        f"{module_name(path)} {_digest_source(path.read_text(encoding='utf-8'))}" for path in files
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@cache
def _digest_source(source: str) -> str:
    """A hash of the syntax tree of a source, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not isinstance(node, DOCUMENTED):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(_spell(tree).encode()).hexdigest()


def _spell(node: object) -> str:
    """A syntax tree as text, the same from every version of Python, unlike that of ast.dump."""
    if isinstance(node, ast.AST):
        known = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
        fields = [f"{name}={_spell(value)}" for name, value in known]
        return f"{type(node).__name__}({','.join(fields)})"
    return f"[{','.join(map(_spell, node))}]" if isinstance(node, list) else repr(node)


def module_name(path: Path) -> str:
    """The name by which a file of the packages is imported."""
    package = next(root for root in PACKAGES.values() if path.is_relative_to(root))
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


@cache
def _imported(source: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The modules of the two packages that a source imports anywhere, also inside functions.

    And the packages whose modules it collects by `held_in`, which its strings name.
    """
    names = set()
    strings: dict[str, None] = {}
    finds = False
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings[node.value] = None
        finds |= "held_in" in (getattr(node, "id", ""), getattr(node, "attr", ""))
    named = [name for name in strings if finds and name.split(".")[0] in PACKAGES]
    folders = tuple(name for name in named if _folder(name).is_dir())
    return frozenset(name for name in names if name.split(".")[0] in PACKAGES), folders


def _is_root(path: Path) -> bool:
    """Whether a file is what a package itself offers."""
    return path.name == "__init__.py" and path.parent in PACKAGES.values()


def _folder(package: str) -> Path:
    """The folder of a package, or where it would be."""
    root, *rest = package.split(".")
    return PACKAGES[root].joinpath(*rest)


@cache
def _find(path: Path) -> Path | None:
    """The file of the module or package of this path; None for other names, as of a function."""
    places = (path.with_suffix(".py"), path / "__init__.py")
    return next(filter(Path.exists, places), None)
