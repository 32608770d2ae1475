"""Is the rendered site whole? Everything that can be seen without a browser."""

import os
import re
import shutil
from collections import Counter
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup
from inventory import SUPPLEMENTS, inventory
from madeup import only_pages

from attreval.metrics.metric import JUDGES
from compendium.config import Profile
from compendium.explorer.page import PAGE, explorer_page, pack_page
from compendium.site import rendering
from compendium.site.markdown import ReportError
from compendium.site.pandoc_route import pdf
from compendium.site.pandoc_route import site as site_module
from compendium.site.pandoc_route.site import build_site, frame, read_site, staged_site
from compendium.site.rendering import render_site, stage
from compendium.site.tables import titles


def files(folder):
    """The bytes of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_pages_show_what_the_sources_declare(home):
    pages = {name: inventory(home / "_site", name) for name in ("index", *SUPPLEMENTS)}
    assert pages == {name: inventory(home, name) for name in pages}
    assert (
        len(pages["index"].figures) >= 3
        and len(pages["index"].references) >= 8
        and len(pages["index"].numbers) > 50
    )
    assert sum(len(page.figures) for page in pages.values()) >= 30
    assert sum(len(page.tables) for page in pages.values()) >= 50


def test_the_inventory_notices_a_changed_number_and_a_lost_reference(home, tmp_path):
    copy = tmp_path / "site"
    shutil.copytree(home / "_site", copy)
    page = copy / "paper" / "index.html"
    text = page.read_text(encoding="utf-8")
    value = yaml.safe_load((home / "_variables.yml").read_text())["train"]["snli"]["accuracy"]
    assert value in text
    page.write_text(text.replace(value, "9.999", 1), encoding="utf-8")
    assert inventory(copy).numbers != inventory(home).numbers
    page.write_text(
        re.sub(r'<a href="#fig-[\w-]+"\s*class="xref">', "<a>", text, count=1), encoding="utf-8"
    )
    assert inventory(copy).references != inventory(home).references


@pytest.mark.skipif(shutil.which("quarto") is None, reason="no quarto program on the PATH")
def test_quarto_shows_the_same(home, fresh):
    made = render_site("smoke", "quarto")
    for name in ("index", *SUPPLEMENTS):
        assert inventory(made, name) == inventory(home / "_site", name)


def test_rendering_elsewhere_gives_the_same_bytes(home, fresh):
    """Of a page a kind."""
    with only_pages("index", "kamp2023", "05_kamp2023"):
        made = files(render_site("smoke", "pandoc"))
    before = files(home / "_site")
    shown = [name for name in made if made[name]]
    assert len(shown) > 20 and [name for name in shown if made[name] != before[name]] == []


def test_every_link_and_picture_leads_somewhere(parsed):
    checked = 0
    for path, page in parsed.items():
        for element in page.find_all(["a", "img", "link"]):
            address = element.get("href") or element.get("src")
            if address.startswith(("data:", "https://doi.org/")):
                continue
            parts = urlsplit(address)
            assert not parts.scheme and not parts.netloc, f"{path}: {address} leaves the site"
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path}: {address}"
            if parts.fragment:
                assert parsed[target].find(id=unquote(parts.fragment)), (
                    f"{path}: nothing is named {address}"
                )
            checked += 1
    assert checked > 100


def test_pages_are_well_formed_and_their_footer_tells_the_run(parsed):
    for path, page in parsed.items():
        ids = Counter(element["id"] for element in page.find_all(id=True))
        assert not [name for name, count in ids.items() if count > 1], path
        assert page.html["lang"] == "en"
        assert len(page.find_all("h1")) == 1 and page.title.string.strip()
        assert page.find("link", rel="icon")["href"].startswith("data:")
        assert not page.find_all("script") or path.name == "explorer.html"
        assert all(image.get("alt", "").strip() for image in page.find_all("img"))
        assert not any("#|" in code.get_text() for code in page.find_all(["pre", "code"]))
        text = page.find("main").get_text()
        assert not re.search(r"\?\?|\{\{<|(?<![\w@])@(fig|tbl|sec)-|:::", text), path
        footer = page.find("footer").get_text()
        assert "smoke" in footer and "0123456789ab" in footer and "2001-02-03" in footer


@pytest.mark.parametrize(("name", "least"), [("index", 3), ("kamp2023", 15)])
def test_the_pdf_has_the_figures_tables_and_numbers_of_the_page(
    home, parsed, monkeypatch, name, least
):
    kept = []

    def keep(path, **_):
        kept.append(path.read_text(encoding="utf-8"))
        assert all(
            (path.parent / picture).is_file()
            for picture in re.findall(r'image\("([^"]+)"', kept[-1])
        )
        return b""

    monkeypatch.setattr(pdf.typst, "compile", keep)
    site = read_site(home, yaml.safe_load((home / "_variables.yml").read_text()))
    pdf.make_pdf(site, home / "paper" / f"{name}.qmd")
    floats = parsed[home / "_site" / "paper" / f"{name}.html"].find_all("figure", id=True)
    assert len(floats) >= least and 'image("figures/scorecard' in kept[0]
    assert all(f"] <{one['id']}>" in kept[0] for one in floats)
    labels = [" ".join(one.find(class_="float-number").get_text().split()) for one in floats]
    found = [
        " ".join(label.replace("~", " ").split())
        for label in re.findall(r"#strong\[(.*?:)\]", kept[0])
    ]
    assert [label for label in found if label.startswith(("Figure", "Table"))] == labels
    assert not re.search(r"\?\?|\{\{<|<figure|@(fig|tbl|sec)-", kept[0])


def test_figures_have_numbers_captions_and_sources(home, parsed):
    for name in ["index", "kamp2023"]:
        page = parsed[home / "_site" / "paper" / f"{name}.html"]
        for kind, word in (("fig", "Figure"), ("tbl", "Table")):
            floats = page.find_all("figure", id=re.compile(f"^{kind}-"))
            for number, figure in enumerate(floats, 1):
                caption = figure.find("figcaption").get_text()
                assert re.match(rf"\s*{word}\s{number}:\s+\S", caption)
                if kind == "fig" and not figure.find("img")["src"].startswith("figures/"):
                    source = figure.select_one(".source a")["href"]
                    assert re.fullmatch(r"notebooks/([\w.-]+)\.html#cell-[\w-]+", source)
            assert len(floats) > 5 or name == "index"
        first = {"index": "1 Introduction", "kamp2023": "1 Ours beside the published"}[name]
        assert first in re.sub(r"\s+", " ", page.find("h2").get_text())


def test_the_paper_leads_to_each_supplement_and_each_supplement_back(home, parsed):
    paper = parsed[home / "_site" / "paper" / "index.html"].find("main")
    for name in SUPPLEMENTS:
        assert paper.select(f'a[href^="{name}.html"]'), f"the paper does not link to {name}"
        page = parsed[home / "_site" / "paper" / f"{name}.html"]
        assert page.find("main").select('a[href^="index.html"]')
        assert page.select_one(
            f'nav details[aria-current] a[href="{name}.html"][aria-current="page"]'
        )
    landing = parsed[home / "_site" / "index.html"].find("main")
    wanted = {f"paper/{name}.html" for name in ("index", "notebooks", *SUPPLEMENTS)}
    assert wanted <= {link["href"] for link in landing.find_all("a")}
    pictures = [image["src"] for image in landing.find_all("img")]
    assert pictures[0].endswith("/flips.png")
    assert pictures[1:] == [f"paper/figures/card-{judge}.svg" for judge in JUDGES]


def test_the_explorer_is_in_the_menu_of_a_run_that_has_texts_for_it_alone(home, fresh, monkeypatch):
    """The made-up run has none."""

    def menu_of(html):
        return [link["href"] for link in BeautifulSoup(html, "html.parser").select("li a")]

    site = staged_site(home)
    index = home / "index.qmd"
    before = menu_of(frame(site, index)["nav"])
    assert (
        not (home / "_site" / PAGE).exists()
        and PAGE not in (home / "_site" / "index.html").read_text()
    )
    page = fresh / PAGE
    page.write_text(explorer_page(pack_page([], {}, {}, Profile.model_construct().agreement, [])))
    with monkeypatch.context() as patch:
        patch.setattr(rendering, "write_page", lambda results: page)
        stage("smoke")
    site = staged_site(fresh)
    index = fresh / "index.qmd"
    assert menu_of(frame(site, index)["nav"]) == [*before, PAGE] == menu_of(page.read_text())
    assert (
        PAGE in site.resources
        and f"]({PAGE})" in (fresh / "paper" / "tables" / "_explorer.md").read_text()
    )
    stage("smoke")
    assert menu_of(frame(staged_site(fresh), index)["nav"]) == before and not page.exists()


def test_no_cell_holds_nan_nothing_or_a_key_where_there_is_a_title(parsed):
    sure = {key for key in titles() if "_" in key} | {"snli", "minilm", "lime"}
    cells = 0
    for path, page in parsed.items():
        for cell in page.select("main td"):
            text = cell.get_text().strip()
            assert text and text.lower() not in ("nan", "none", "<na>"), (
                f"{path.name}: an empty cell"
            )
            assert text not in sure, f"{path.name}: {text}"
            cells += 1
        for table in page.select("main figure.table"):
            if any(cell.get_text().strip() == "–" for cell in table.find_all("td")):
                why = table.find("p", string=re.compile(r"^\s*– \w"))
                assert why, f"{path.name}: {table['id']} has a dash, no reason"
    assert cells > 1000


def test_alternative_text_is_the_cells_or_the_caption(home, parsed):
    page = parsed[home / "_site" / "paper" / "index.html"]
    alts = {image["alt"] for image in page.find_all("img")}
    captions = [
        figure.find("figcaption").get_text()
        for figure in page.find_all("figure", id=re.compile("^fig-"))
    ]
    assert any(alt.endswith("made up") for alt in alts)
    assert any(alt in re.sub(r"\s+", " ", caption) for alt in alts for caption in captions)


def test_staging_again_removes_what_is_stale(fresh):
    stage("smoke")
    stale = [
        fresh / "paper" / name
        for name in ("notebooks/99_old.ipynb", "tables/_old.md", "reference/_old.md")
    ]
    unfinished = [
        fresh / "results/smoke" / name
        for name in ("notebooks/.05.77.part.ipynb", "tables/.05_x.csv")
    ]
    for path in (*stale, *unfinished, fresh / "paper/reference/_api.md"):
        path.write_text("{")
    (fresh / "paper/notebooks/old_files").mkdir()
    stage("smoke")
    assert not list((fresh / "paper" / "notebooks").glob(".*")), "what is unfinished is left out"
    assert "attreval.load(" in (fresh / "paper" / "reference" / "_api.md").read_text()
    assert (
        not any(path.exists() for path in stale)
        and not (fresh / "paper/notebooks/old_files").exists()
    )
    tree = yaml.safe_load((fresh / "_variables.yml").read_text(encoding="utf-8"))
    assert tree["run"]["profile"] == "smoke" and isinstance(tree["train"]["snli"]["accuracy"], str)


def test_nothing_of_the_machine_that_ran_is_published(home):
    staged = [  # the study, once more as that of the controls
        path.read_text(encoding="utf-8") for path in (home / "paper/notebooks").glob("[!c]*.ipynb")
    ]
    run = [
        path.read_text(encoding="utf-8")
        for path in (home / "results/smoke/notebooks").glob("*.ipynb")
    ]
    assert len(staged) == len(run) and all("/some/machine/path" in text for text in run)
    assert not any("/some/machine/path" in text or "papermill" in text for text in staged)
    shown = b"".join(files(home / "_site").values())
    assert b"/some/machine/path" not in shown and str(home).encode() not in shown


def test_a_broken_render_leaves_the_site_that_was_there(home, fresh, monkeypatch):
    before = files(shutil.copytree(home / "_site", fresh / "_site"))

    def break_down(*args):
        raise OSError("no space left")

    monkeypatch.setattr(site_module.pandoc, "write", break_down)
    with pytest.raises(OSError):
        render_site("smoke", "pandoc")
    assert files(fresh / "_site") == before
    assert not list(fresh.glob("_site.*"))


def test_unknown_profile_route_and_missing_quarto(fresh, monkeypatch):
    with pytest.raises(ReportError, match="attreval run --profile nosuch"):
        render_site("nosuch")
    with pytest.raises(ReportError, match="auto, quarto, pandoc"):
        render_site("smoke", "latex")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ReportError, match="route 'pandoc'"):
        render_site("smoke", "quarto")


MISTAKES = [
    (
        "paper/sections/limits.qmd",
        "See {{< var train.snli.acuracy >}}.",
        r"\.qmd:\d+: .*train\.snli\.accuracy",
    ),
    ("paper/sections/limits.qmd", "See @kampf2023.", r"limits\.qmd:\d+: .*kamp2023"),
    (
        "paper/sections/limits.qmd",
        "{{< embed notebooks/05_kamp2023.ipynb#curves >}}",
        "there are: agreement-curves",
    ),
    (
        "paper/sections/limits.qmd",
        "{{< embed notebooks/05_kamp.ipynb#curves >}}",
        "05_kamp2023.ipynb",
    ),
    ("paper/sections/limits.qmd", "{{< include sections/limits.qmd >}}", "include each other"),
    (
        "paper/sections/limits.qmd",
        "See [this](notebooks/05_kamp.ipynb).",
        r"limits\.qmd:\d+: .*is no page",
    ),
    (
        "paper/claims.qmd",
        "![](figures/scorecrd.svg)",
        r"claims\.qmd:\d+: no picture .*scorecard\.svg",
    ),
    ("index.qmd", "See @fig-agreement.", r"index\.qmd:\d+: .*refers to no figure"),
]


def test_mistakes_in_pages_are_named(fresh):
    for page, text, message in MISTAKES:
        path = fresh / page
        before = path.read_text(encoding="utf-8")
        path.write_text(f"{before}\n{text}\n", encoding="utf-8")
        with pytest.raises(ReportError, match=message):
            build_site(fresh)
        path.write_text(before, encoding="utf-8")


FAKE = """#!/bin/sh
[ "$1" = render ] && [ "$3" = --output-dir ] || exit 9
[ -f "$2/_variables.yml" ] || exit 8
mkdir -p "$4" && echo '<p>made by quarto' > "$4/index.html"
echo "said something" >&2
exit {status}
"""


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for quarto is a shell script")
def test_quarto_is_called_where_there_is_one_and_its_failure_changes_nothing(
    fresh, tmp_path, monkeypatch, capfd
):
    program = tmp_path / "bin" / "quarto"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    program.write_text(FAKE.format(status=0))
    program.chmod(0o755)
    # the PDF is ours
    made = files(render_site("smoke"))
    assert made.keys() == {"index.html", "paper/attreval.pdf"}
    assert made["index.html"] == b"<p>made by quarto\n" and made["paper/attreval.pdf"].startswith(
        b"%PDF-"
    )
    program.write_text(FAKE.format(status=1))
    with pytest.raises(ReportError, match="quarto render ended with 1"):
        render_site("smoke", "quarto")
    assert capfd.readouterr().err.count("said something") == 2, "what Quarto says comes through"
    assert files(fresh / "_site") == made
