"""Notebooks in the site: cells with labels and options, shortcodes, numbering, errors."""

import base64
import re

import nbformat
import panflute as pf
import pytest
from reference import CHECKOUT

from compendium.site.markdown import (
    ReportError,
    notebook_markdown,
    outputs_markdown,
    raw_html,
    read_notebook,
)
from compendium.site.pandoc_route import pandoc
from compendium.site.pandoc_route.pandoc import number
from compendium.site.pandoc_route.shortcodes import Page

V4 = nbformat.v4
PNG = base64.b64encode(b"\x89PNG not really").decode()


def write(tmp_path, *cells):
    path = tmp_path / "05_some.ipynb"
    nbformat.write(V4.new_notebook(cells=list(cells)), path)
    return read_notebook(path)


def code(source, *outputs):
    return V4.new_code_cell(source, outputs=list(outputs))


def result(**data):
    kinds = {name: name.replace("__", "/").replace("image/svg", "image/svg+xml") for name in data}
    return V4.new_output("display_data", {kinds[name]: text for name, text in data.items()})


def test_option_lines_are_read_and_hidden(tmp_path):
    options = code("#| label: one\n#| fig-alt: 'a: b'\nx = '#| no option'\n")
    notebook = write(tmp_path, V4.new_markdown_cell("Words\n\n# The *title*\n"), options)
    assert notebook.title == "The *title*"
    cell = notebook.cell("one")
    assert cell.options == {"label": "one", "fig-alt": "a: b"}
    assert (cell.source, cell.anchor) == ("x = '#| no option'", "cell-one")
    text = notebook_markdown(notebook, "f", {})
    assert "#| label" not in text and "# The" not in text and "Words" in text


def test_unknown_labels_list_the_known(tmp_path):
    notebook = write(tmp_path, code("#| label: curves-snli\n1"), code("#| label: table\n1"))
    words = "no cell labelled 'curves-snil'; there are: curves-snli, table; did you mean"
    with pytest.raises(ReportError, match=words):
        notebook.cell("curves-snil")


def test_the_best_form_of_an_output_is_shown(tmp_path):
    pictures = (
        result(image__png=PNG, text__plain="no"),
        result(image__svg="<svg/>", image__png=PNG, text__plain="no"),
    )
    texts = result(text__plain="````"), V4.new_output("stream", name="stdout", text="said")
    marked = result(text__markdown="*yes*", text__plain="no")
    assets = {}
    cells = {"a": pictures, "c": (marked,), "d": texts}
    notebook = write(
        tmp_path, *(code(f"#| label: {label}\n", *outputs) for label, outputs in cells.items())
    )
    shown = {
        label: outputs_markdown(notebook.cell(label), "pics", assets, streams=False)
        for label in "acd"
    }
    assert assets == {"pics/a.png": base64.b64decode(PNG), "pics/a-2.svg": b"<svg/>"}
    assert shown["a"].split() == ["![](pics/a.png)", "![](pics/a-2.svg)"]
    assert shown["c"] == "*yes*"
    assert shown["d"].startswith("`````{") and "said" not in shown["d"]
    assert "no" not in "".join(shown.values())


def test_html_loses_the_looks_of_pandas_and_its_scripts():
    html = (
        "<style scoped>x</style><script>y()</script><table border='1'><tr><td>```</td></tr></table>"
    )
    assert raw_html(html) == "````{=html}\n<table><tr><td>```</td></tr></table>\n````"


def test_printed_text_looks_as_in_a_terminal(tmp_path):
    text = "step 1\rstep 2\r\n\x1b[31mred\x1b[0m <i> 👍 שלום\x00\n"
    notebook = write(tmp_path, code("print()", V4.new_output("stream", name="stdout", text=text)))
    doc = pandoc.read_markdown(notebook_markdown(notebook, "f", {}))
    blocks = []
    doc.walk(
        lambda element, doc: blocks.append(element) if isinstance(element, pf.CodeBlock) else None
    )
    assert [one.text for one in blocks if "stdout" in one.classes] == [
        "step 2\nred <i> 👍 שלום\ufffd"
    ]


def test_alternative_text_is_plain(tmp_path):
    notebook = write(
        tmp_path, code("#| label: a\n#| fig-alt: 'odd ](x) *y* `z`'\n", result(image__png=PNG))
    )
    image = (
        pandoc.read_markdown(outputs_markdown(notebook.cell("a"), "p", {}, False))
        .content[0]
        .content[0]
    )
    assert (
        isinstance(image, pf.Image)
        and image.url == "p/a.png"
        and pf.stringify(image) == "odd ](x) *y* `z`"
    )


def test_broken_notebooks_and_options_are_named(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("not json")
    with pytest.raises(ReportError, match=r"x\.ipynb is not a notebook"):
        read_notebook(path)
    with pytest.raises(ReportError, match=r"05_some\.ipynb, cell 1: the `#\|` lines are not YAML"):
        write(tmp_path, code("#| label: [a\n1"))


def test_what_quarto_embeds_names_its_notebook_and_no_folder_of_the_machine():
    box = (
        '::: {.quarto-embed-nb-cell notebook="/home/me/notebooks/01_data.ipynb" '
        'notebook-cellId="c"}\nHere.\n:::'
    )
    doc = pandoc.read_markdown(box, filters=[CHECKOUT / "paper" / "source.lua"])
    (shown,) = doc.content
    assert "/home/me" not in str(shown) and pf.stringify(shown).split() == [
        "Here.",
        "Source:",
        "01_data",
    ]
    assert shown.content[-1].content[0].content[-1].url == "notebooks/01_data.html"


NUMBERS = {"train.snli.accuracy": "0.761", "train.snli.rows": "1,000"}


def write_pages(home, **pages):
    for name, text in pages.items():
        path = home / f"{name.replace('__', '/')}.qmd"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def fill(home, page="page", embed=lambda path, label: f"![{label}]({path.name})"):
    return Page(home / f"{page}.qmd", home, NUMBERS, embed).expand()


def test_numbers_includes_and_embeds_are_filled_in(tmp_path):
    write_pages(
        tmp_path,
        paper__index="A {{< var train.snli.accuracy >}}, B {{<var train.snli.rows>}}.\n\n"
        "{{< include sections/one.qmd >}}\nZ\n",
        paper__sections__one="One.\n\n{{< made tables/_two.qmd >}}\n\n{{< embed "
        "notebooks/n.ipynb#cell "
        ">}}\n",
        paper__tables___two="{{< include /three.qmd >}}",
        three="Three {{< var train.snli.rows >}}",
    )
    (tmp_path / "paper/notebooks").mkdir()
    (tmp_path / "paper/notebooks/n.ipynb").write_text("{}")
    page = fill(tmp_path, "paper/index")
    assert " ".join(page.text.split()) == "A 0.761, B 1,000. One. Three 1,000 ![cell](n.ipynb) Z"
    places = {"Three": "three.qmd:1", "cell": "paper/sections/one.qmd:5", "no such word": "?"}
    assert {word: page.where(word) for word in places} == places
    write_pages(tmp_path, page="@fig-one-two\n@fig-one\n")
    assert fill(tmp_path).where("@fig-one") == "page.qmd:2", "a word is found whole"


def test_mistakes_name_file_line_and_what_would_work(tmp_path):
    for text, message in [
        (
            "x {{< var train.snli.acuracy >}}",
            r"page\.qmd:3: no number 'train\.snli\.acuracy'.*mean 'train\.snli\.acc",
        ),
        ("{{< vra x >}}", r"page\.qmd:3: unknown shortcode 'vra'.*embed, include, made, var"),
        ("so {{< include page.qmd >}}", r"page\.qmd:3: .*alone on its line"),
        ("so {{< embed n.ipynb#x >}}", r"page\.qmd:3: .*alone on its line"),
        (
            "{{< include pagee.qmd >}}",
            r"page\.qmd:3: include of 'pagee\.qmd': no file pagee\.qmd.*did you mean 'page\.qmd'",
        ),
        ("{{< include ../secret.qmd >}}", r"page\.qmd:3: '\.\./secret\.qmd' leads out"),
        ("{{< embed page.ipynb >}}", r"page\.qmd:3: .*names no cell"),
        ("{{< embed page.ipynb#x >}}", r"page\.qmd:3: .*no notebook page\.ipynb"),
    ]:
        write_pages(tmp_path, page=f"first\n\n{text}\n")
        with pytest.raises(ReportError, match=message):
            fill(tmp_path)


def test_files_that_include_each_other_are_named_in_order_and_the_same_file_twice_is_no_cycle(
    tmp_path,
):
    write_pages(
        tmp_path,
        page="{{< include a.qmd >}}",
        a="{{< include b.qmd >}}",
        b="\n{{< include a.qmd >}}",
    )
    with pytest.raises(
        ReportError, match=r"^b\.qmd:2: files include each other: a\.qmd -> b\.qmd -> a\.qmd$"
    ):
        fill(tmp_path)
    write_pages(tmp_path, page="{{< include a.qmd >}}\n\n{{< include a.qmd >}}", a="again")
    assert fill(tmp_path).text.split() == ["again", "again"]


FIGURE = "::: {#fig-%s}\n![](p.png)\n\nCaption of %s.\n:::\n\n"
TABLE = "::: {#tbl-%s}\n| a | b |\n|---|--:|\n| 1 | 2 |\n\nCaption of %s.\n:::\n\n"


def html(text, sections=True):
    """A page's text with numbers, as HTML, and the numbers."""
    doc = pandoc.read_markdown(text)
    numbers = number(doc, lambda needle: "page.qmd:7", sections)
    given = {"extra_args": ["--wrap=none"], "pandoc_path": pandoc.pypandoc.get_pandoc_path()}
    return pf.convert_text(doc, "panflute", "html5", **given), numbers


def test_each_kind_counts_for_itself_in_reading_order():
    text = FIGURE % ("b", "b") + TABLE % ("x", "x") + FIGURE % ("a", "a") + TABLE % ("y", "y")
    _, numbers = html(text)
    assert numbers == {"fig-b": "1", "tbl-x": "1", "fig-a": "2", "tbl-y": "2"}


def test_sections_count_by_level_and_skip_the_unnumbered():
    text = "# A {#sec-a}\n\n## B {#sec-b}\n\n## C {#sec-c}\n\n"
    text += "# X {#sec-x .unnumbered}\n\n# D {#sec-d}\n\n## E {#sec-e}\n\n### F {#sec-f}\n"
    page, numbers = html(text)
    said = ["1", "1.1", "1.2", "2", "2.1", "2.1.1"]
    assert numbers == {f"sec-{one}": place for one, place in zip("abcdef", said, strict=True)}
    assert re.findall(r"<h(\d)", page) == ["2", "3", "3", "2", "2", "3", "4"]
    page, _ = html(text, sections=False)
    assert "header-section-number" not in page


def test_references_become_links_before_and_after_and_in_groups():
    text = "@fig-a, see [@tbl-x; @sec-s], only [-@fig-a].\n\n# S {#sec-s}\n\n"
    page, _ = html(text + FIGURE % ("a", "a") + TABLE % ("x", "x"))
    links = re.findall(r'<a href="#([\w-]+)" class="xref">([^<]+)</a>', page)
    said = ["Figure\u00a01", "Table\u00a01", "Section\u00a01", "1"]
    assert links == list(zip(["fig-a", "tbl-x", "sec-s", "fig-a"], said, strict=True))


def test_captions_carry_the_number_and_describe_the_picture():
    page, _ = html(FIGURE % ("a", "*lines*, 2 < 3"))
    caption = (
        r'<figcaption>\s*<span class="float-number">Figure\u00a01:</span> Caption of '
        r"<em>lines</em>, 2 &lt;"
    )
    assert re.search(caption, page)
    assert 'alt="Caption of lines, 2 &lt; 3."' in page
    page, _ = html("::: {#fig-a}\n![Own words](p.png)\n\nCaption.\n:::\n")
    assert 'alt="Own words"' in page


def test_mistakes_say_where_and_what():
    for text, message in [
        (
            "@fig-lenghts\n\n" + FIGURE % ("lengths", "x"),
            r"page\.qmd:7: @fig-lenghts .* no figure; .*mean 'fig-lengths",
        ),
        ("@sec-none", "refers to no section; there are: none"),
        ("[@fig-a; @kamp2023]\n\n" + FIGURE % ("a", "a"), "mixes works"),
        ("::: {#fig-a}\n![](p.png)\n:::", "fig-a has no caption"),
        ("::: {#fig-a}\nWords.\n\nCaption.\n:::", "fig-a holds no picture"),
        ("::: {#tbl-a}\nWords.\n\nCaption.\n:::", "tbl-a holds no table"),
        (FIGURE % ("a", "a") + FIGURE % ("a", "b"), "'fig-a' is defined twice"),
    ]:
        with pytest.raises(ReportError, match=message):
            html(text)
