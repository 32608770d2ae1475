"""The manuscript's sources fit together, and the route without Quarto stays in its folder."""

from __future__ import annotations

import ast
import re

import yaml
from reference import CHECKOUT

PAGES = [CHECKOUT / "index.qmd", *sorted((CHECKOUT / "paper").rglob("*.qmd"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if "notebooks" not in page.parent.parts)


def declared(name):
    return set(yaml.safe_load((CHECKOUT / "paper" / name).read_text(encoding="utf-8")) or {})


def test_every_declared_table_and_number_is_in_the_text():
    included = set(re.findall(r"tables/_([\w-]+)\.md", TEXT)) - {"notebooks"}
    assert included == declared("tables.yml")
    used = set(re.findall(r"\{\{<\s*var\s+(\S+)\s*>\}\}", TEXT))
    # tables may look a number up, too: `where: { k: agreement.k }`
    looked_up = set(re.findall(r"[\w.-]+", (CHECKOUT / "paper" / "tables.yml").read_text(encoding="utf-8")))
    assert not declared("numbers.yml") - used - looked_up


def test_every_section_is_included_once():
    page = (CHECKOUT / "paper" / "index.qmd").read_text(encoding="utf-8")
    included = re.findall(r"include sections/(\w+)\.qmd", page)
    assert sorted(included) == sorted(path.stem for path in (CHECKOUT / "paper" / "sections").glob("*.qmd"))


def test_only_the_route_without_quarto_imports_pandoc_and_typst():
    package = CHECKOUT / "src" / "attreval"
    importing = set()
    for path in (package / "report").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                if {name.split(".")[0] for name in names} & {"panflute", "pypandoc", "typst"}:
                    importing.add(path.parent.relative_to(package).as_posix())
    assert importing == {"report/pandoc_route"}


def test_the_readmes_pictures_are_kept_figures_of_a_notebook():
    readme, make = ((CHECKOUT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", readme)
    assert pictures
    shown = [
        picture for picture in pictures if not picture.startswith("docs/images/")
    ]  # those show what commands write
    assert shown and all((CHECKOUT / picture).is_file() for picture in pictures)
    for picture in shown:
        _, name = re.fullmatch(r"results/reference/(\w+)/figures/(.+)\.png", picture).groups()
        stem, _, label = name.rpartition("_")
        assert (CHECKOUT / picture).is_file()
        assert f'step.figure(\\"{label}\\"' in (CHECKOUT / "notebooks" / f"{stem}.ipynb").read_text(encoding="utf-8")
    assert "attreval publish --profile $(PROFILE)" in make
