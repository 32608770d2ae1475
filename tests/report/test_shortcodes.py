"""Shortcodes: what is filled in, and what is said when something is not there."""

from __future__ import annotations

import pytest

from compendium.site.markdown import ReportError
from compendium.site.pandoc_route.shortcodes import expand

NUMBERS = {"train.snli.accuracy": "0.761", "train.snli.rows": "1,000"}


def write(home, **pages):
    for name, text in pages.items():
        path = home / f"{name.replace('__', '/')}.qmd"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def fill(home, page="page", embed=lambda path, label: f"![{label}]({path.name})"):
    return expand(home / f"{page}.qmd", home, NUMBERS, embed)


def test_numbers_includes_and_embeds_are_filled_in(tmp_path):
    write(
        tmp_path,
        paper__index="A {{< var train.snli.accuracy >}}, B {{<var train.snli.rows>}}.\n\n"
        "{{< include sections/one.qmd >}}\nZ\n",
        paper__sections__one="One.\n\n{{< include tables/_two.qmd >}}\n\n{{< embed notebooks/n.ipynb#cell >}}\n",
        paper__tables___two="{{< include /three.qmd >}}",
        three="Three {{< var train.snli.rows >}}",
    )
    (tmp_path / "paper/notebooks").mkdir()
    (tmp_path / "paper/notebooks/n.ipynb").write_text("{}")
    page = fill(tmp_path, "paper/index")
    assert " ".join(page.text.split()) == "A 0.761, B 1,000. One. Three 1,000 ![cell](n.ipynb) Z"
    assert page.where("Three") == "three.qmd:1"
    assert page.where("cell") == "paper/sections/one.qmd:5"
    assert page.where("no such word") == "?"


def test_a_word_is_found_whole(tmp_path):
    write(tmp_path, page="@fig-one-two\n@fig-one\n")
    assert fill(tmp_path).where("@fig-one") == "page.qmd:2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x {{< var train.snli.acuracy >}}",
            r"page\.qmd:3: no number 'train\.snli\.acuracy'.*did you mean train\.snli\.accuracy",
        ),
        ("{{< vra x >}}", r"page\.qmd:3: unknown shortcode 'vra'.*embed, include, var"),
        ("so {{< include page.qmd >}}", r"page\.qmd:3: .*alone on its line"),
        ("so {{< embed n.ipynb#x >}}", r"page\.qmd:3: .*alone on its line"),
        (
            "{{< include pagee.qmd >}}",
            r"page\.qmd:3: include of 'pagee\.qmd': no file pagee\.qmd.*did you mean page\.qmd",
        ),
        ("{{< include ../secret.qmd >}}", r"page\.qmd:3: '\.\./secret\.qmd' leads out"),
        ("{{< embed page.ipynb >}}", r"page\.qmd:3: .*names no cell"),
        ("{{< embed page.ipynb#x >}}", r"page\.qmd:3: .*no notebook page\.ipynb"),
    ],
)
def test_mistakes_name_file_line_and_what_would_work(tmp_path, text, message):
    write(tmp_path, page=f"first\n\n{text}\n")
    with pytest.raises(ReportError, match=message):
        fill(tmp_path)


def test_files_that_include_each_other_are_named_in_order(tmp_path):
    write(tmp_path, page="{{< include a.qmd >}}", a="{{< include b.qmd >}}", b="\n{{< include a.qmd >}}")
    with pytest.raises(ReportError, match=r"^b\.qmd:2: files include each other: a\.qmd -> b\.qmd -> a\.qmd$"):
        fill(tmp_path)


def test_the_same_file_twice_is_no_cycle(tmp_path):
    write(tmp_path, page="{{< include a.qmd >}}\n\n{{< include a.qmd >}}", a="again")
    assert fill(tmp_path).text.split() == ["again", "again"]
