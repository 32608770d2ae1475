"""The reference pages: cards of methods and metrics, signatures and docstrings."""

import importlib
import inspect
import re

import panflute as pf
import pytest
from reference import CHECKOUT, models

import attreval
from attreval.api import catalogue
from attreval.api.catalogue import list_methods, list_metrics
from attreval.methods import METHODS
from attreval.methods.method import FAMILIES, Method
from attreval.metrics import METRICS
from attreval.metrics.metric import JUDGES
from compendium.site import reference as cards
from compendium.site.pandoc_route import pandoc
from compendium.site.reference import (
    RECORDS,
    code,
    constants,
    docstring_markdown,
    inline,
    public_members,
    public_names,
)
from compendium.site.rendering import reference_pages

BIBLIOGRAPHY = CHECKOUT / "paper" / "references.bib"
HOSTILE = [
    "a|b *bold* _under_ <script>x</script> &amp; [link](x) $x_1$ @kamp2023 {#id}",
    "{{< var x >}} ::: # no heading",
]
HOSTILE += [
    "1. no list",
    "- no list",
    "back\\slash \\| end\\",
    "'quoted' \"twice\" it's",
    ": no definition",
    "a -> b",
]


def said(*elements) -> list[str]:
    """The words of parsed Markdown, code and listings too, in order."""
    found = []
    for element in elements:
        element.walk(lambda e, doc: found.append(getattr(e, "text", "")))
    return re.findall(r"\w+", " ".join(found))


def every(kind, elements) -> list:
    """All elements of a kind in parsed Markdown, in order."""
    found = []
    for element in elements:
        element.walk(lambda e, doc: found.append(e) if isinstance(e, kind) else None)
    return found


def plain(element) -> str:
    """The text of parsed Markdown; pandoc does not break a line behind `al.`."""
    return pf.stringify(element).strip().replace("\xa0", " ")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def doc_words(documented) -> list[str]:
    """The words of a docstring as the page has them: lists without headings, errors `Raises`."""
    text = re.sub(r"^(Args|Attributes|Raises):$", "", inspect.getdoc(documented), flags=re.M)
    return words(re.sub(r"^    (?=[\w, ]+Error\w*: )", "    Raises ", text, flags=re.M))


def holds(long: list[str], short: list[str]) -> bool:
    """Whether the words of one text stand in another, next to each other and in order."""
    return f" {' '.join(short)} " in f" {' '.join(long)} "


@pytest.fixture(scope="module")
def sections():
    """Of every heading: (the heading of level 1 above it, its blocks), by page and identifier."""
    found = {}
    for page, text in reference_pages(BIBLIOGRAPHY).items():
        found[page] = {}
        group = ""
        name = ""
        for block in pandoc.read_markdown(text).content:
            if isinstance(block, pf.Header):
                group = plain(block) if block.level == 1 else group
                name = block.identifier
                assert name not in found[page]
                found[page][name] = (group, [block])
            else:
                found[page][name][1].append(block)
    return found


def facts(blocks) -> dict[str, list]:
    """A card's facts: name -> the elements that say it."""
    (listed,) = [
        block for block in blocks if isinstance(block, pf.Div) and "facts" in block.classes
    ]
    return {
        plain(pf.Plain(*item.term)): [b for d in item.definitions for b in d.content]
        for item in listed.content[0].content
    }


def cited(elements) -> list[str]:
    return [citation.id for cite in every(pf.Cite, elements) for citation in cite.citations]


def in_code(elements) -> list[str]:
    return [one.text for one in every(pf.Code, elements)]


def leads_to(place: str) -> object:
    """What a card names as its code."""
    file, name = place.split("::")
    assert (CHECKOUT / "src" / "attreval" / file).is_file()
    return getattr(
        importlib.import_module("attreval." + file.removesuffix(".py").replace("/", ".")), name
    )


def test_every_method_has_a_card_with_its_facts(sections):
    for name in METHODS:
        method = METHODS[name]
        group, blocks = sections["_methods.md"][f"method-{name}"]
        card = facts(blocks)
        assert plain(blocks[0]) == method.title and group == cards.KIND_TITLES[method.kind]
        assert len(words(plain(blocks[1]))) > 2
        assert in_code(card["Name"])[0] == name and in_code(card["Evaluations"]) == [
            method.evaluations
        ]
        assert ("sign tells" in plain(card["Scores"][0])) == method.signed
        assert plain(card["Scores"][0]).startswith(cards.LEVELS[method.level] + ";")
        assert in_code(card.get("Limited by", [])) == list(method.limits)
        assert ("draws numbers" in plain(card["Random"][0])) == method.stochastic
        assert ("faster precision" in plain(card["Evaluations"][0])) == method.sampled
        models_said = plain(card["Models"][0])
        assert (models_said == "all") == (set(method.families) == set(FAMILIES))
        assert cited(card.get("In papers", [])) == list(method.in_papers)
        assert in_code(card.get("In papers", [])) == [
            theirs for _, theirs in method.in_papers.values()
        ]
        assert len(cited(card["Source"])) == len(
            re.findall(r"\b(?:19|20)\d\d[a-z]?\b", method.source)
        )
        found = leads_to(in_code(card["Code"])[0])
        found = getattr(found, "converse", found)
        assert found is method.converse or method.converse.__qualname__.startswith(
            f"{found.__name__}.<locals>"
        )


def test_every_metric_has_a_card_with_its_facts(sections):
    for name in METRICS:
        metric = METRICS[name]
        group, blocks = sections["_metrics.md"][f"metric-{name}"]
        card = facts(blocks)
        assert plain(blocks[0]) == metric.title and group == (
            JUDGES.get(metric.judge) or cards.NO_JUDGE
        )
        assert words(plain(blocks[1])) == words(metric.about)
        assert in_code(card["Name"])[0] == name
        assert (
            plain(card["Better"][0]).split()[0]
            == {1: "higher", 0: "neither", -1: "lower"}[metric.sign]
        )
        assert plain(card["Range"][0]).startswith(f"{metric.range[0]:g} ")
        assert len(plain(card["Needs"][0]).split(";")) == len(metric.needs)
        assert ("Judges" in card) == (metric.level == "pair")
        assert len(cited(card["Source"])) == len(re.findall(r"\b(?:19|20)\d\d\b", metric.source))
        found = leads_to(in_code(card["Code"])[0])
        assert getattr(found, "function", found) is metric.function


def test_every_public_name_is_on_the_page(sections):
    page = sections["_api.md"]
    assert {"load", "wrap", "explain", "evaluate", "Explanation", "Explanations"} <= set(
        public_names()
    )
    assert set(public_names()) == {name for name in attreval.__all__ if name != "__version__"}
    assert all(f"api-{name}" in page for name in public_names())


def test_a_functions_section_is_its_signature_and_its_whole_docstring(sections):
    for name in [name for name, one in public_names().items() if inspect.isfunction(one)]:
        function = public_names()[name]
        _, (_, listing, *rest) = sections["_api.md"][f"api-{name}"]
        assert isinstance(listing, pf.CodeBlock) and listing.text.startswith(f"attreval.{name}(")
        for parameter in inspect.signature(function).parameters.values():
            shown = re.search(rf"\b{parameter.name}: (.+?),?\n", f"{listing.text}\n").group(1)
            assert shown.startswith(parameter.annotation)
            if parameter.default is not parameter.empty:
                assert shown.endswith(f" = {parameter.default!r}")
        assert said(*rest) == doc_words(function) + words(constants(function))


def test_a_classs_section_has_its_members(sections):
    for name in [name for name, one in public_names().items() if inspect.isclass(one)]:
        documented = public_names()[name]
        _, (_, *rest) = sections["_api.md"][f"api-{name}"]
        shown = said(*rest)
        members = public_members(documented)
        assert holds(shown, doc_words(documented)) and len(members) > 5
        assert [one.identifier for one in every(pf.Span, rest)] == [
            f"api-{name}-{member}" for member in members
        ]
        for member in members.values():
            assert holds(shown, doc_words(member))


def test_records_are_there_with_every_field(sections):
    for record in RECORDS:
        _, (_, listing, *rest) = sections["_api.md"][f"api-{record.__name__}"]
        assert all(
            f"\n    {name}: " in listing.text for name in inspect.signature(record).parameters
        )
        assert holds(said(*rest), doc_words(record))


def test_the_links_of_the_pages_lead_to_sections(sections):
    checked = 0
    for page, found in sections.items():
        for _, blocks in found.values():
            for link in every(pf.Link, blocks):
                file, _, anchor = link.url.partition("#")
                target = sections[f"_{file.removesuffix('.qmd')}.md" if file else page]
                assert not file or (CHECKOUT / "paper" / file).is_file()
                assert not anchor or anchor in target, link.url
                checked += 1
    assert checked > 10


def test_text_comes_out_as_it_went_in():
    blocks = pandoc.read_markdown("\n\n".join(inline(text) for text in HOSTILE)).content
    assert {type(block) for block in blocks} == {pf.Para} and [
        plain(block) for block in blocks
    ] == HOSTILE
    blocks = pandoc.read_markdown("\n\n".join(f"x {code(f'`{text}`')}" for text in HOSTILE)).content
    assert [in_code([block]) for block in blocks] == [[f"`{text}`"] for text in HOSTILE]


def test_a_method_that_wants_to_be_markup_is_text(monkeypatch):
    evil = "<script>alert(1)</script> [x](http://evil.example) {{< include x >}}"

    def converse(tokens, target, budget, rng):
        yield

    converse.__doc__ = evil
    method = Method(
        "evil", evil, converse, "`1`", evil, "gradient", in_papers={"nowhere2001": (1, evil)}
    )
    monkeypatch.setattr(catalogue, "METHODS", {"evil": method})
    monkeypatch.setattr(catalogue, "place_of", lambda function: evil)
    document = pandoc.read_markdown(cards.method_card(*list_methods(), frozenset()))
    assert (
        not every((pf.RawInline, pf.RawBlock, pf.Link, pf.Cite), [document])
        and plain(document.content[0]) == evil
    )
    assert in_code(facts(document.content)["Evaluations"]) == ["`1`"]


def test_sources_become_citations_where_the_bibliography_has_them():
    for source, shown in [
        ("Zhao & Aletras 2023, section 4.3", "@zhao2023, section 4.3"),
        ("after Chan et al. 2022; Nobody 1999", "after @chan2022; Nobody 1999"),
        ("Ray Choudhury et al. 2023", "@raychoudhury2023"),
        ("Kádár et al. 2017", "@kadar2017"),
        ("ours", "ours"),
        ("Jain & Wallace 2019 [1]", "@jain2019 \\[1\\]"),
    ]:
        works = frozenset({"zhao2023", "chan2022", "raychoudhury2023", "kadar2017", "jain2019"})
        assert cards.cite(source, works) == shown


def test_sections_of_a_docstring_become_lists_of_terms():
    doc = """Do it: at once.

    Args:
        size: of `it`, see `some_size`,
            which is: another.
        both, some_size (int): two.

    Returns:
        A *table*.

    Raises:
        ValueError: for none.

    More of it.
    """
    documented = type("Documented", (), {"__doc__": doc})
    assert docstring_markdown(documented).split("\n\n") == [
        "Do it: at once.",
        "`size`\n:   of `it`, see `some_size`, which is: another.",
        "`both`, `some_size`\n:   two.",
        "Returns\n:   A \\*table\\*.",
        "Raises `ValueError`\n:   for none.",
        "More of it.",
    ]


EXAMPLES = {
    "README.md": r"^(    import attreval as av\n(?:(?:    [^\n]*)?\n)*)",  # an indented block
    "paper/api.qmd": r"^```python\n(.*?)^```",
}


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_python_that_is_shown_runs(page, tmp_path, monkeypatch, capsys):
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    example = inspect.cleandoc(re.search(EXAMPLES[page], text, re.DOTALL | re.MULTILINE).group(1))
    models.tiny_model().save(tmp_path / "path/to/model")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(example, names)
    assert len(names["found"]) == 2 and names["found"].methods == ["lime", "integrated_gradients"]
    # what a notebook would show, or None after a print
    table = eval(example.splitlines()[-1], names)
    shown = capsys.readouterr().out if table is None else table.to_string()
    assert {"lime", "random"} <= {
        line.split()[1] for line in shown.splitlines() if len(line.split()) > 3
    }


def test_no_cell_of_the_table_of_methods_and_models_is_empty_without_a_reason():
    lines = cards.coverage_markdown(list_methods()).splitlines()
    heads, _, *rows = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines)
    families = ["Transformers", "GRU and LSTM", "QGRU and QLSTM", "CNN", "Functions of texts"]
    assert heads[1:6] == families and len(rows) == len(METHODS)
    for row, method in zip(rows, METHODS.values(), strict=True):
        assert row[0].endswith(f"(#method-{method.name})")
        assert [cell == "yes" for cell in row[1:6]] == [
            family in method.families for family in FAMILIES
        ]
        assert len(row) == 7 and (row[6] == "applies to all") == (method.families == FAMILIES)


def test_no_cell_of_the_table_of_metrics_and_methods_is_empty_without_a_reason():
    members, judged, said = (
        table.splitlines() for table in cards.judged_markdown(list_methods(), list_metrics())
    )
    members, judged = ([line[2:-2].split(" | ") for line in table] for table in (members, judged))
    group_of = {
        name: row[0] for row in members[2:] for name in re.findall(r"#method-(\w+)", row[1])
    }
    assert list(group_of) and set(group_of) == set(METHODS) and len(judged) == 2 + len(METRICS)
    letters = judged[0][1:-1]
    assert letters == [row[0] for row in members[2:]] and 3 <= len(letters) <= 8
    listed = {row["name"]: row for row in list_metrics()}
    for row, metric in zip(judged[2:], METRICS.values(), strict=True):
        of_group = dict(zip(letters, row[1:], strict=False))
        for name in METHODS:
            computed = listed[metric.name]["computed"].get(name)
            why = listed[metric.name]["why_not"].get(name)
            assert bool(computed) != bool(why), (metric.name, name)
            cell = of_group[group_of[name]].strip()
            assert (
                cell == "yes"
                if computed
                else said[int(cell.strip("()")) - 1].endswith(cards.inline(why))
            )
        assert (row[-1].strip() == "nowhere") == (not listed[metric.name]["computed"]) and row[
            -1
        ].strip()
