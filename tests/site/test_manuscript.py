"""The manuscript's sources fit together, and the route without Quarto stays in its folder."""

import ast
import re

import yaml
from reference import CHECKOUT

PAPER = CHECKOUT / "paper"
PAGES = [CHECKOUT / "index.qmd", *sorted(PAPER.rglob("*.qmd"))]
TEXT = "\n".join(
    page.read_text(encoding="utf-8") for page in PAGES if "notebooks" not in page.parent.parts
)
SUPPLEMENTS = ("poerner2018", "kamp2023", "zhao2023", "sun2024", "joint", "data", "claims")
SECTION = re.compile(r"^\{\{<\s*include sections/(\w+)\.qmd\s*>\}\}$", re.M)


def read_whole(page):
    """A page with its sections pasted in."""
    text = page.read_text(encoding="utf-8")
    return SECTION.sub(lambda found: read_whole(PAPER / "sections" / f"{found[1]}.qmd"), text)


WHOLE = {page.stem: read_whole(page) for page in PAPER.glob("*.qmd")}


def declared(name):
    return set(yaml.safe_load((CHECKOUT / "paper" / name).read_text(encoding="utf-8")) or {})


def test_every_declared_number_is_in_the_text():
    used = set(re.findall(r"\{\{<\s*var\s+(\S+)\s*>\}\}", TEXT))
    # tables may look a number up, too: `where: { k: agreement.k }`
    looked_up = set(
        re.findall(r"[\w.-]+", (CHECKOUT / "paper" / "tables.yml").read_text(encoding="utf-8"))
    )
    assert not declared("numbers.yml") - used - looked_up


def test_every_section_is_on_one_page():
    included = [
        name
        for page in PAPER.glob("*.qmd")
        for name in SECTION.findall(page.read_text(encoding="utf-8"))
    ]
    assert sorted(included) == sorted(path.stem for path in (PAPER / "sections").glob("*.qmd"))


def test_every_table_and_every_figure_of_a_notebook_is_on_one_page():
    tables = [
        name for text in WHOLE.values() for name in re.findall(r"made tables/_([\w-]+)\.md", text)
    ]
    # of the run itself, and of paper/claims.yml
    made = {
        "notebooks",
        "other-runs",
        "second-reading",
        "beside",
    }
    assert sorted(tables) == sorted(declared("tables.yml") | made)
    figures = [
        cell for text in WHOLE.values() for cell in re.findall(r"embed notebooks/(\S+)", text)
    ]
    assert len(figures) == len(set(figures)) >= 27


def test_the_paper_is_short_and_leads_to_every_supplement():
    paper = WHOLE["index"]
    for name in SUPPLEMENTS:
        assert f"]({name}.qmd" in paper
        assert "](index.qmd" in WHOLE[name]
    assert "made tables/" not in paper
    words = len(re.sub(r"\{\{<.*?>\}\}|\]\(.*?\)", "x", paper).split())
    assert words < 5500, f"{words} words are more than fifteen pages with their figures hold"


def test_pages_refer_to_what_they_have_and_link_to_what_others_have():
    named = {
        page: set(re.findall(r"\{#((?:fig|tbl|sec)-[\w-]+)", text)) for page, text in WHOLE.items()
    }
    for page, text in WHOLE.items():
        assert set(re.findall(r"(?<![\w.\\])@((?:fig|tbl|sec)-[\w-]+)", text)) <= named[page], page
        for other, anchor in re.findall(r"\]\((\w+)\.qmd#((?:fig|tbl|sec)-[\w-]+)\)", text):
            assert anchor in named[other], f"{page} links to {other}#{anchor}"


def test_only_the_route_without_quarto_imports_pandoc_and_typst():
    package = CHECKOUT / "src" / "compendium"
    importing = set()
    for path in (package / "site").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = (
                    [node.module or ""]
                    if isinstance(node, ast.ImportFrom)
                    else [a.name for a in node.names]
                )
                if {name.split(".")[0] for name in names} & {"panflute", "pypandoc", "typst"}:
                    importing.add(path.parent.relative_to(package).as_posix())
    assert importing == {"site/pandoc_route"}


def test_the_readmes_pictures_are_kept_figures_of_a_notebook():
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    make = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", readme)
    assert pictures
    # where commands write theirs
    shown = [picture for picture in pictures if not picture.startswith("docs/images/")]
    assert shown and all((CHECKOUT / picture).is_file() for picture in pictures)
    for picture in shown:
        _, name = re.fullmatch(r"results/reference/(\w+)/figures/(.+)\.png", picture).groups()
        stem, _, label = name.rpartition("_")
        assert (CHECKOUT / picture).is_file()
        assert f'step.figure(\\"{label}\\"' in (CHECKOUT / "notebooks" / f"{stem}.ipynb").read_text(
            encoding="utf-8"
        )
    assert "attreval publish --profile $(PROFILE)" in make


def test_quotes_in_the_titles_of_works_are_inner_ones():
    """A straight quote gives two marks on either side; behind a backslash it is an umlaut's."""
    titles = re.findall(
        r"^\s*title = .*$", (PAPER / "references.bib").read_text(encoding="utf-8"), re.M
    )
    assert len(titles) > 50 and not [title for title in titles if re.search(r'(?<!\\)"', title)]
