"""Titles for keys, and dashes for what is missing: in tables, sentences and notebooks."""

import io

import nbformat
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from attreval.methods import METHODS
from attreval.metrics import METRICS
from compendium.corpora import TASKS
from compendium.site.declarations import DeclaredNumber, read_declared
from compendium.site.markdown import ReportError
from compendium.site.rendering import _for_readers, _list_notebooks
from compendium.site.tables import (
    cell_title,
    html_with_titles,
    number_text,
    replace_keys,
    titles,
)


def test_every_method_and_task_has_a_title_that_is_no_key():
    known = titles()
    assert set(METHODS) | set(TASKS) <= set(known)
    assert not [title for title in known.values() if "_" in title or title in ("minilm", "snli")]


def test_no_two_have_one_title():
    for named in [METHODS, METRICS]:
        titles = [one.title for one in named.values()]
        assert sorted(titles) == sorted(set(titles))


def test_titles_of_cells():
    for field, value, shown in [
        ("task", "rotten_tomatoes", "Rotten Tomatoes"),
        ("model", "uni_gru", "GRU (one direction)"),
        ("voter", "people", "people"),
        ("measure", "soft_nc", "Soft-NC"),
        ("measure", "comprehensiveness", "Comprehensiveness"),
        ("name", "comprehensiveness", "comprehensiveness"),
        ("model", "mine", "mine"),
        ("on", "uni_gru on agreement_parsed", "GRU (one direction) on Agreement, parsed"),
        ("weights", "allenai/scibert_scivocab_uncased", "allenai/scibert_scivocab_uncased"),
        ("texts", 4, 4),
    ]:
        assert cell_title(field, value) == shown


def test_keys_in_sentences_become_titles_and_words_stay():
    assert replace_keys("minilm on n = 5 (imdb), random attention, tiny, snli/test/1") == (
        "MiniLM on n = 5 (IMDB), random attention, tiny, snli/test/1"
    )
    assert (
        replace_keys("200 of 20 newsgroups, 9 of newsgroups")
        == "200 of 20 newsgroups, 9 of 20 newsgroups"
    )


def test_a_pandas_table_shows_titles_and_dashes_and_nothing_else_changes():
    frame = pd.DataFrame(
        {"task": ["snli", "mine"], "method": ["lime", None], "mean": [0.25, np.nan]}
    )
    shown = BeautifulSoup(html_with_titles(frame._repr_html_()), "html.parser")
    cells = [[cell.get_text() for cell in row.find_all("td")] for row in shown.select("tbody tr")]
    assert cells == [["SNLI", "LIME", "0.25"], ["mine", "–", "–"]]
    assert [cell.get_text() for cell in shown.select("thead th")] == ["", "task", "method", "mean"]
    assert "not measured" in shown.find("td", string="–")["title"]
    plain = pd.DataFrame({"a": [1, 2]})._repr_html_()
    assert html_with_titles(plain) == plain
    metrics = pd.DataFrame(columns=["nc", "soft_nc", "agreement"])._repr_html_()
    heads = BeautifulSoup(html_with_titles(metrics), "html.parser").find_all("th")
    assert [head.get_text() for head in heads] == ["", "NC", "Soft-NC", "agreement"]


def test_a_number_of_several_cells_is_one_text():
    frame = pd.read_csv(io.StringIO("claim,value,low\na,0.25,0.1\nb,,\nc,1,1\nc,2,2\n"))
    text = "{value:+.2f} [{low:+.2f}]"
    assert (
        number_text("k", frame, DeclaredNumber(table="t", where={"claim": "a"}, text=text))
        == "+0.25 [+0.10]"
    )
    assert (
        number_text("k", frame, DeclaredNumber(table="t", where={"claim": "b"}, text=text))
        == "not part of this run"
    )
    assert (
        number_text(
            "k", frame, DeclaredNumber(table="t", where={"claim": "b"}, text=text, otherwise="no")
        )
        == "no"
    )
    assert (
        number_text("k", frame, DeclaredNumber(table="t", where={"claim": "z"}, text=text)) is None
    )
    with pytest.raises(ReportError, match="2 rows match"):
        number_text("k", frame, DeclaredNumber(table="t", where={"claim": "c"}, text=text))
    with pytest.raises(ReportError, match=r"no column 'lo'; there are: .*; did you mean 'low'"):
        number_text("k", frame, DeclaredNumber(table="t", where={"claim": "a"}, text="{lo}"))


def test_a_text_of_several_cells_takes_no_column(tmp_path):
    for more, message in [
        ("column: x", "leaves nothing to `column`"),
        ("take: mean", "leaves nothing to `take`"),
    ]:
        (tmp_path / "numbers.yml").write_text(f"k: {{ table: t, text: '{{value}}', {more} }}\n")
        with pytest.raises(ReportError, match=message):
            read_declared(tmp_path / "numbers.yml", DeclaredNumber)


def test_runs_of_one_notebook_have_titles_of_their_own_and_stand_in_one_line(tmp_path):
    path = tmp_path / "03_explain.ipynb"
    cells = [
        nbformat.v4.new_markdown_cell("# Explaining\n\n# Not the title"),
        nbformat.v4.new_code_cell("#| label: costs", id="other"),
        nbformat.v4.new_code_cell("1", id="costs"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    runs = ["snli-minilm-s1-0", "snli-minilm-s1-1", "yelp-cnn-s2-0-custom"]
    names = ["01_data.ipynb", *(f"03_explain-{run}.ipynb" for run in runs)]
    assert _list_notebooks(dict.fromkeys(names, path)).splitlines() == [
        "- **01\\_data**. [Explaining](notebooks/01_data.ipynb)",
        "- **03\\_explain**. Explaining",
        f"  - SNLI: [MiniLM / seed 1 / part 0](notebooks/{names[1]}) · "
        f"[part 1](notebooks/{names[2]})",
        f"  - Yelp: [CNN / seed 2 / part 0 / custom](notebooks/{names[3]})",
    ]
    shown = nbformat.reads(_for_readers(names[2], path), as_version=4)
    assert shown.cells[0].source.startswith(
        "# SNLI / MiniLM / seed 1 / part 1 · Explaining\n\n# Not"
    )
    assert "costs" not in [cell.id for cell in shown.cells], "Quarto would embed it for the label"
