"""Executed notebooks as text: option lines, labels, outputs of every kind."""

from __future__ import annotations

import base64

import nbformat
import panflute as pf
import pytest
from reference import CHECKOUT

from compendium.site.markdown import ReportError, raw_html
from compendium.site.notebook import notebook_markdown, outputs_markdown, read_notebook
from compendium.site.pandoc_route import pandoc

V4 = nbformat.v4
PNG = base64.b64encode(b"\x89PNG not really").decode()


def write(tmp_path, *cells):
    path = tmp_path / "05_some.ipynb"
    nbformat.write(V4.new_notebook(cells=list(cells)), path)
    return read_notebook(path)


def code(source, *outputs):
    return V4.new_code_cell(source, outputs=list(outputs))


def result(**data):
    return V4.new_output(
        "display_data",
        {name.replace("__", "/").replace("image/svg", "image/svg+xml"): text for name, text in data.items()},
    )


def test_option_lines_are_read_and_hidden(tmp_path):
    notebook = write(
        tmp_path,
        V4.new_markdown_cell("Words\n\n# The *title*\n"),
        code("#| label: one\n#| fig-alt: 'a: b'\nx = '#| no option'\n"),
    )
    assert notebook.title == "The *title*"
    cell = notebook.cell("one")
    assert (
        cell.options == {"label": "one", "fig-alt": "a: b"}
        and cell.source == "x = '#| no option'"
        and cell.anchor == "cell-one"
    )
    text = notebook_markdown(notebook, "f", {})
    assert "#| label" not in text and "# The" not in text and "Words" in text


def test_unknown_labels_list_the_known(tmp_path):
    notebook = write(tmp_path, code("#| label: curves-snli\n1"), code("#| label: table\n1"))
    with pytest.raises(
        ReportError,
        match=r"no cell labelled 'curves-snil'; labels: did you mean curves-snli.*curves-snli, table",
    ):
        notebook.cell("curves-snil")


def test_the_best_form_of_an_output_is_shown(tmp_path):
    assets = {}
    notebook = write(
        tmp_path,
        code(
            "#| label: a\n",
            result(image__png=PNG, text__plain="no"),
            result(image__svg="<svg/>", image__png=PNG, text__plain="no"),
        ),
        code("#| label: c\n", result(text__markdown="*yes*", text__plain="no")),
        code("#| label: d\n", result(text__plain="````"), V4.new_output("stream", name="stdout", text="said")),
    )
    shown = {label: outputs_markdown(notebook.cell(label), "pics", assets, streams=False) for label in "acd"}
    assert assets == {"pics/a.png": base64.b64decode(PNG), "pics/a-2.svg": b"<svg/>"}
    assert shown["a"].split() == ["![](pics/a.png)", "![](pics/a-2.svg)"]
    assert shown["c"] == "*yes*"
    assert shown["d"].startswith("`````{") and "said" not in shown["d"]
    assert "no" not in "".join(shown.values())


def test_html_loses_the_looks_of_pandas_and_its_scripts():
    html = "<style scoped>x</style><script>y()</script><table border='1'><tr><td>```</td></tr></table>"
    assert raw_html(html) == "````{=html}\n<table><tr><td>```</td></tr></table>\n````"


def test_printed_text_looks_as_in_a_terminal(tmp_path):
    text = "step 1\rstep 2\r\n\x1b[31mred\x1b[0m <i> 👍 שלום\x00\n"
    notebook = write(tmp_path, code("print()", V4.new_output("stream", name="stdout", text=text)))
    doc = pandoc.read(notebook_markdown(notebook, "f", {}))
    blocks = []
    doc.walk(
        lambda element, doc: (
            blocks.append(element.text) if isinstance(element, pf.CodeBlock) and "stdout" in element.classes else None
        )
    )
    assert blocks == ["step 2\nred <i> 👍 שלום\ufffd"]


def test_alternative_text_is_plain(tmp_path):
    notebook = write(tmp_path, code("#| label: a\n#| fig-alt: 'odd ](x) *y* `z`'\n", result(image__png=PNG)))
    image = pandoc.read(outputs_markdown(notebook.cell("a"), "p", {}, False)).content[0].content[0]
    assert isinstance(image, pf.Image) and image.url == "p/a.png" and pf.stringify(image) == "odd ](x) *y* `z`"


def test_broken_notebooks_and_options_are_named(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("not json")
    with pytest.raises(ReportError, match=r"x\.ipynb is not a notebook"):
        read_notebook(path)
    with pytest.raises(ReportError, match=r"05_some\.ipynb, cell 1: the `#\|` lines are not YAML"):
        write(tmp_path, code("#| label: [a\n1"))


def test_what_quarto_embeds_names_its_notebook_and_no_folder_of_the_machine():
    box = '::: {.quarto-embed-nb-cell notebook="/home/me/notebooks/01_data.ipynb" notebook-cellId="c"}\nHere.\n:::'
    doc = pandoc.read(box, filters=[CHECKOUT / "paper" / "source.lua"])
    (shown,) = doc.content
    assert "/home/me" not in str(shown) and pf.stringify(shown).split() == ["Here.", "Source:", "01_data"]
    assert shown.content[-1].content[0].content[-1].url == "notebooks/01_data.html"
