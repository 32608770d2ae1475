"""The explorer in a browser: right numbers, by mouse and keyboard, on a phone, offline."""

import re
from dataclasses import replace
from itertools import combinations
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from browsing import IN_BROWSER
from reference.explained_texts import ABOUT, HOSTILE, TASKS, make_text

from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima, select
from attreval.metrics.marked import agreement_with_share, selection_with_share
from attreval.metrics.scored_text import relevance
from compendium.config import AgreementSpec
from compendium.explorer.page import explorer_page, pack_page

pytestmark = IN_BROWSER
SHOWN = [make_text(task, number) for number in range(4) for task in TASKS]
RUN = ("snli", "tiny", 1)
PAIRS = {("lime", "random"): ({k: k / 10 for k in range(1, 11)}, 8)}
MEANS = {RUN: {"metrics": {"soft_nc": {"lime": (0.125, 9)}}, "pairs": PAIRS}}


CONTRAST = """() => {
  const probe = document.createElement('span');
  document.querySelector('.text').append(probe);
  const read = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const line = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * line(r / 255) + 0.7152 * line(g / 255) + 0.0722 * line(b / 255);
  const paper = read(getComputedStyle(document.body).backgroundColor);
  return ['for', 'against', 'marked'].map((kind) => {
    probe.className = `t ${kind}`;
    probe.style.setProperty('--a', 1);
    const style = getComputedStyle(probe), [r, g, b, a = 1] = read(style.backgroundColor);
    const on = light([r, g, b].map((v, i) => v * a + paper[i] * (1 - a))), ink = light(read(style.color));
    return (Math.max(on, ink) + 0.05) / (Math.min(on, ink) + 0.05);
  });
}"""  # noqa: E501


def write(folder, shown, **settings):
    """The address of a page of these texts."""
    path = folder / "explorer.html"
    path.write_text(
        explorer_page(pack_page(shown, MEANS, ABOUT, AgreementSpec(**settings), [])),
        encoding="utf-8",
    )
    return path.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return write(tmp_path_factory.mktemp("explorer"), SHOWN)


@pytest.fixture
def visit(browser):
    """Open an address offline; afterwards nothing was complained of, or asked for besides."""
    contexts = []
    said = []
    asked = []

    def visit(address, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_offline(True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address, wait_until="load")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not said
    assert asked and all(url.startswith(("file://", "data:")) for url in asked)


def state_of(page) -> dict[str, str]:
    """What the address says of what is shown."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).fragment).items()}


def numbers_of(page, metric: str) -> list[str]:
    """What the cells of a row of the table of metrics say."""
    return page.eval_on_selector_all(
        f'tr[data-metric="{metric}"] td', "cells => cells.map(c => c.innerText)"
    )


def test_agreement_and_peaks_are_the_packages(visit, address):
    found = visit(address).evaluate(
        """(rules) => { const e = explorer, out = [];
          for (const run of e.data.runs) for (const one of run.texts) {
            const read = run.methods.map((m) => e.readMethod(run, one, m)), people = e.humanMarks(one);
            read.forEach((a, i) => { if (!a) return;
              out.push(["peaks", one.id, a.name, a.peaks]);
              for (const [name, rule] of Object.entries(rules))
                if (one.scores[i].length < 3) out.push(["rule", one.id, a.name, name, e.localMaxima(a.values, rule)]);
              read.slice(i + 1).forEach((b) => { if (!b) return;
                for (const k of [1, 2, 3, 5, 10]) out.push(["fixed", one.id, a.name, b.name, k, e.agreement(a, b, k)]);
                out.push(["dynamic", one.id, a.name, b.name, e.agreement(a, b, "dynamic")]); });
              if (people) for (const k of [1, 4, 10]) {
                out.push(["people", one.id, a.name, k, e.agreement(a, people, k)]);
                out.push(["share", one.id, a.name, k, e.agreementWithShare(a.values, people.share, k),
                  e.selectionWithShare(a.peaks, people.share)]); } }); }
          return out; }""",  # noqa: E501
        {
            name: {f: getattr(rule, f) for f in rule.__dataclass_fields__}
            for name, rule in PEAK_RULES.items()
        },
    )
    texts = {shown.instance.id: shown for shown in SHOWN}
    seen = {}
    for kind, name, *rest in found:
        shown = texts[name]
        seen[kind] = seen.get(kind, 0) + 1
        scores = shown.scores
        share = relevance(shown.marks) if len(shown.marks) else None
        if kind == "peaks":
            assert rest[1] == local_maxima(scores[rest[0]]).tolist()
        elif kind == "rule":
            assert rest[2] == local_maxima(scores[rest[0]], PEAK_RULES[rest[1]]).tolist()
        elif kind == "fixed":
            a, b, k, value = rest
            assert value == pytest.approx(agreement_at_k([scores[a], scores[b]], k), abs=1e-9), (
                name,
                a,
                b,
                k,
            )
        elif kind == "dynamic":
            a, b, value = rest
            chosen = [select(local_maxima(scores[m]), len(scores[m])) for m in (a, b)]
            expected = agreement_of(chosen)
            assert value is None or np.isnan(expected) or value == pytest.approx(expected)
            assert (value is None or np.isnan(value)) == np.isnan(expected)
        elif kind == "people":
            assert rest[2] == pytest.approx(
                agreement_at_k([scores[rest[0]], share], rest[1]), abs=1e-9
            )
        else:
            method, k, fixed, dynamic = rest
            assert fixed == pytest.approx(agreement_with_share(scores[method], share, k), abs=1e-9)
            peaks = select(local_maxima(scores[method]), len(share))
            assert dynamic == pytest.approx(selection_with_share(peaks, share), abs=1e-9)
    assert min(seen.values()) > 10 and set(seen) == {
        "peaks",
        "rule",
        "fixed",
        "dynamic",
        "people",
        "share",
    }


def test_what_is_shown_are_the_numbers_of_the_data(visit, address):
    page = visit(f"{address}#task=snli&text=snli/2&a=random&b=lime&k=3")
    shown = next(s for s in SHOWN if s.instance.id == "snli/2")
    both = [shown.scores["random"], shown.scores["lime"]]
    assert numbers_of(page, "fixed") == [f"{agreement_at_k(both, 3):.3f}", "0.300", "8"]
    for metric in ("comprehensiveness", "soft_ns", "win_nc"):
        expected = [f"{shown.metrics[metric][m]:.3f}" for m in ("random", "lime")]
        assert numbers_of(page, metric)[:2] == expected
        better = expected.index(min(expected) if metric == "sufficiency" else max(expected))
        assert page.locator(f'tr[data-metric="{metric}"] td').nth(better).locator("b").count() == 1
    assert numbers_of(page, "soft_nc")[2:] == ["–", "0.125", "9"]
    top = page.locator('[data-method="random"] .t.chosen')
    places = sorted(np.argsort(-shown.scores["random"])[:3].tolist())
    assert top.evaluate_all("all => all.map(t => Number(t.dataset.at))") == places
    assert sorted(page.locator('[data-method="random"] .t.chosen sup').all_inner_texts()) == [
        "1",
        "2",
        "3",
    ]
    page.locator("#tokens summary").click()
    rows = page.locator("#tokenbody tbody tr")
    rows.first.wait_for()
    assert rows.count() == len(both[0]) and rows.first.locator("td").first.inner_text() != "–"


def test_choosing_changes_what_is_shown_and_the_address(visit, address):
    page = visit(address)
    assert state_of(page)["task"] == "snli" and page.get_by_role("heading", level=1).count() == 1
    page.get_by_label("Corpus").select_option("rated_movies")
    page.get_by_role("combobox", name="Method A").select_option("gradient_l1")
    page.get_by_role("combobox", name="Method B").select_option("random")
    page.get_by_label("dynamic").check()
    assert (
        page.locator("#panels h2").all_inner_texts()[0].startswith("A")
        and page.locator("#human").is_visible()
    )
    peaks = local_maxima(SHOWN[1].scores["gradient_l1"]).tolist()
    chosen = page.locator('[data-method="gradient_l1"] .t.chosen')
    marked = chosen.evaluate_all("all => all.map(t => Number(t.dataset.at))")
    assert marked == peaks and page.locator(
        '[data-method="gradient_l1"] .profile .peak'
    ).count() == len(peaks)
    kept = state_of(page)
    chosen = {"task": "rated_movies", "a": "gradient_l1", "b": "random", "mode": "dynamic"}
    assert {name: kept[name] for name in chosen} == chosen
    again = visit(page.url)
    assert again.locator("#scores").inner_text() == page.locator("#scores").inner_text()
    assert again.locator("#panels").inner_html() == page.locator("#panels").inner_html()


def test_a_keyboard_is_enough(visit, address):
    page = visit(address)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e);"
            " return [e.id || e.tagName, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) "
            "> 1]; }"
        )
        assert focus[1] or focus[0] == "BODY", f"{focus[0]} does not show that it has the focus"
        reached.append(focus[0])
    for control in ("task", "run", "text", "next", "a", "b", "fixed", "k"):
        assert control in reached, f"{control} cannot be reached by tabulator: {reached}"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert state_of(page)["text"] == "snli/2" and page.locator("#what").inner_text().startswith(
        "Text 3 of 4"
    )
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Next text").press("Enter")
    assert state_of(page)["text"] == "snli/2"
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert (
        state_of(page)["text"] == "snli/3"
        and page.get_by_role("button", name="Next text").is_disabled()
    )
    unnamed = (
        "all => all.filter(e => !(e.labels?.length || e.getAttribute('aria-label'))).map(e => e.id)"
    )
    assert page.eval_on_selector_all("select, input, button", unnamed) == []
    page = visit(f"{address}#task=snli&a=gradient_x_input&b=random&k=2")
    page.get_by_label("k, how many tokens are selected").focus()
    page.keyboard.press("ArrowRight")
    assert state_of(page)["k"] == "3" and state_of(page)["text"] == "snli/0", (
        "the slider moves k, and no text"
    )
    assert page.locator('[data-method="random"] .t.chosen').count() == 3


def test_texts_are_text(visit, address):
    page = visit(
        f"{address}#task=rated_movies&text=%3Cscript%3Ewindow.hacked=1%3C/script%3E&a=%3Cimg%3E"
    )
    assert (
        page.evaluate("window.hacked") is None
        and page.locator("main script, main img").count() == 0
    )
    without_places = (
        "p => { p.querySelectorAll('sup').forEach((s) => s.remove()); return p.textContent; }"
    )
    assert HOSTILE in page.locator("#panels .text").first.evaluate(without_places)


def test_pairs_and_spans_are_linked(visit, address):
    page = visit(f"{address}#task=snli&a=bivariate_shapley&b=bivariate_shapley_spans&features=2")
    panel = page.locator('[data-method="bivariate_shapley_spans"]')
    assert panel.locator("ol.features li").count() == 2 and panel.locator("path.arc").count() == 2
    assert panel.locator("path.arc.against").count() == 1 and panel.locator(".t.held").count() == 6
    assert page.locator("#human").is_visible() and "subject" in page.locator("#human").inner_text()
    page.get_by_label("Pairs or spans shown").fill("1")
    assert panel.locator("path.arc").count() == 1
    box = panel.locator("path.arc").bounding_box()
    words = panel.locator(".words").bounding_box()
    assert box["x"] >= words["x"] - 2 and box["y"] >= words["y"] and box["height"] > 5
    assert numbers_of(page, "complexity")[:2] == ["0.750", "–"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_it_fits_and_can_be_read(visit, address, width, scheme):
    looks = {"color_scheme": scheme, "reduced_motion": "reduce"}
    page = visit(f"{address}#task=snli&a=bivariate_shapley_spans", width, 740, **looks)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lightness = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert (max(lightness) < 60) if scheme == "dark" else (min(lightness) > 240)
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.t')).transitionDuration") == "0s"
    )
    low = (
        "all => all.filter(e => e.offsetParent && e.getBoundingClientRect().height < 40).map(e "
        "=> e.id)"
    )
    assert not page.eval_on_selector_all("select, button", low)
    # the darkest tint still lets its text be read: WCAG asks for a contrast of 4.5
    contrast = page.evaluate(CONTRAST)
    assert min(contrast) >= 4.5, contrast


def test_nothing_is_said_by_colour_alone(visit, address):
    page = visit(f"{address}#task=rated_movies&a=gradient_x_input")
    style = "t => getComputedStyle(t).textDecorationStyle"
    sides = ("for", "against")
    lines = [page.locator(f"#panels .t.{side}").first.evaluate(style) for side in sides]
    assert lines == ["solid", "dotted"]
    said = {re.sub(r"^word\s*", "", text) for text in page.locator("#legend li").all_inner_texts()}
    assert {"for the class (line below)", "against it (dotted line)"} <= said


def test_on_paper_the_controls_are_gone(visit, address):
    page = visit(address)
    page.emulate_media(media="print")
    assert (
        page.locator(".controls").is_hidden() and page.locator("#panels .text").first.is_visible()
    )
    assert page.locator("#scores table").is_visible() and page.locator("#what").is_visible()


def test_two_hundred_texts_draw_no_more_than_one(visit, tmp_path):
    many = [make_text("snli", number) for number in range(200)]
    page = visit(write(tmp_path, many))
    assert page.locator("#text option").count() == 200
    assert page.evaluate("document.querySelectorAll('main *:not(option)').length") < 1200


def test_pages_with_gaps_are_drawn(visit, tmp_path):
    one = make_text("rated_movies", 1, linked=False)
    bare = {
        "scores": {"lime": one.scores["lime"]},
        "marks": np.zeros((0, 0)),
        "metrics": {},
        "text_agreement": {},
    }
    page = visit(write(tmp_path, [replace(one, **bare, probability=float("nan"))]))
    assert page.locator("#panels section").count() == 2 and page.locator("#human").is_hidden()
    itself = agreement_at_k([one.scores["lime"]] * 2, 4)
    assert numbers_of(page, "fixed")[0] == f"{itself:.3f}"
    assert "with probability" not in page.locator("#what").inner_text()


def test_every_pair_of_methods_can_be_drawn(visit, address):
    page = visit(address)
    for a, b in combinations(page.evaluate("explorer.data.runs[0].methods"), 2):
        page.evaluate(
            "([a, b]) => { Object.assign(explorer.state, {a, b}); explorer.draw(); }", [a, b]
        )
        assert page.locator("#panels section").evaluate_all(
            "all => all.map(s => s.dataset.method)"
        ) == [a, b]
