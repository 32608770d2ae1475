"""The house as docs/map.md draws it: who leans on whom, no circle, and where equations are."""

import ast
import importlib
import re
from graphlib import TopologicalSorter

from reference import CHECKOUT

SOURCE = CHECKOUT / "src"
MAP = (CHECKOUT / "docs" / "map.md").read_text(encoding="utf-8")
PICTURE = re.search(r"```text\n(.*?)```", MAP, re.DOTALL).group(1)
FLOORS = [
    re.findall(r"[a-z0-9_/]+", line.partition("  ")[0].strip()) for line in PICTURE.splitlines()
][::-1]


def modules() -> dict[str, ast.Module]:
    """Every module of the package with its syntax tree."""
    files = [path for path in SOURCE.rglob("*.py") if "standin" not in path.parts]
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): ast.parse(path.read_text())
        for path in files
    }


TREES = modules()
NAMES = {name.removesuffix(".__init__") for name in TREES}


def imported(tree: ast.Module) -> set[str]:
    """The modules that a tree imports, also inside functions and by their names in strings."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in NAMES:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & NAMES) or {node.module}
            found |= {node.module} if inner - NAMES else set()
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & NAMES
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            found |= {part.value for part in node.args if isinstance(part, ast.Constant)} & NAMES
    return found


def room_of(module: str) -> str:
    """The room of docs/map.md that a module lies in: the longest that its path begins with."""
    path = "/".join(module.removesuffix(".__init__").split(".")[1:])
    rooms = [
        room for floor in FLOORS for room in floor if path == room or path.startswith(f"{room}/")
    ]
    return max(rooms, key=len, default="")


HEIGHT = {room: height for height, floor in enumerate(FLOORS) for room in floor}
ROOMLESS = {
    "attreval.__init__",
    "compendium.__init__",
    "attreval.__main__",
    "compendium.papers.__init__",
}


def test_every_module_lies_in_a_room_of_the_map():
    assert not [name for name in TREES.keys() - ROOMLESS if not room_of(name)] and len(HEIGHT) > 10


def test_nothing_leans_on_a_higher_floor_or_on_a_neighbour():
    wrong = []
    for module, tree in TREES.items():
        here = room_of(module)
        for other in imported(tree) - {"attreval", "compendium"}:
            there = room_of(other)
            if here and there and here != there and HEIGHT[there] >= HEIGHT[here]:
                wrong.append(f"{module} ({here}) imports {other} ({there})")
    assert not wrong


def test_the_library_imports_nothing_of_the_study():
    library = [name for name in TREES if name.startswith("attreval")]
    assert len(library) > 100
    leaning = {
        name: [x for x in imported(TREES[name]) if x.startswith("compendium")] for name in library
    }
    assert not {name: study for name, study in leaning.items() if study}


def test_no_module_needs_itself():
    """An import circle would be one even where a function hides it."""
    graph = {}
    for name, tree in TREES.items():  # a package's own __init__ names what lies in it
        inner = name.removesuffix(".__init__")
        graph[inner] = {
            other for other in imported(tree) - {inner} if not inner.startswith(f"{other}.")
        }
    TopologicalSorter(graph).prepare()


def test_the_root_of_the_package_is_small():
    assert all(len(list((SOURCE / name).glob("*.py"))) <= 6 for name in ("attreval", "compendium"))


ENTRIES = re.findall(r"^\| ([^|]+?) +\| ([^|]+?) +\| `([\w/.]+)::([\w.]+)` +\|", MAP, re.MULTILINE)


def test_the_map_leads_to_what_it_names():
    for what, _, file, function in ENTRIES:
        packages = [name for name in ("attreval", "compendium") if (SOURCE / name / file).is_file()]
        assert len(packages) == 1, f"{what}: {file} is in {packages}"
        found = importlib.import_module(
            f"{packages[0]}." + file.removesuffix(".py").replace("/", ".")
        )
        for part in function.split("."):
            assert hasattr(found, part), f"{what}: {file} has no {function}"
            found = getattr(found, part)


def test_the_map_names_every_published_table_and_numbered_figure():
    tables = {(file, function) for _, _, file, function in ENTRIES}
    for name, tree in TREES.items():
        if name.rpartition(".")[2] in ("tables", "figures") and ".papers." in name:
            file = "/".join(name.split(".")[1:]) + ".py"
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and re.match(
                    r"(table|tables|figure)_\d", node.name
                ):
                    assert (file, node.name) in tables, (
                        f"docs/map.md does not name {file}::{node.name}"
                    )
    assert len(ENTRIES) > 60
