"""The report's page: every word that is not ours is escaped, and what speaks against the choice is
said.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace

import numpy as np
import pytest
from bs4 import BeautifulSoup

import attreval as av
from attreval.evaluation import findings
from attreval.evaluation.findings import Evaluation, conclude
from attreval.evaluation.judged import Judged
from attreval.evaluation.page import limits, report_page, table
from attreval.texts.rows import Row

EVIL = '<script>alert("1")</script>'
FACTS = {
    "title": f"{EVIL} on my.csv",
    "labels": (EVIL, "b", "yes"),
    "size": 90,
    "dropped": {},
    "given": (EVIL,),
    "seconds": {"lime": 1.25},
    "max_length": 64,
}


@pytest.fixture(scope="module")
def found(tiny) -> Evaluation:
    """Forty texts of which LIME is right by both judges, and Occlusion (1) by simplicity."""
    texts = [f"{EVIL} film {at}" for at in range(39)] + ["good " * 70]
    explained = av.explain(tiny, texts, ["lime", "occlusion_1"], samples=4)
    explained.add(EVIL, [[0.0] * len(one.units) for one in explained])
    values = {
        "nc": (0.9, 0.1, 0.4, 0.0),
        "ns": (0.8, 0.2, 0.4, 0.1),
        "simplicity": (0.3, 0.7, 0.2, 0.4),
    }
    methods = ("lime", "occlusion_1", EVIL, "random")
    of_text = {metric: dict(zip(methods, row, strict=True)) for metric, row in values.items()}
    judged = []
    for at, one in enumerate(explained):
        label = FACTS["labels"][at % 2]
        judged.append(Judged(replace(one, predicted=label, probabilities={label: 0.5}), of_text))
    pointed = {"pointing": dict.fromkeys(methods, 0.5), "nc": dict.fromkeys(methods, 0.7)}
    documents = [replace(one, values=pointed) for one in judged[:35]]
    rows = [Row(str(at), "test", (text,), at // 20) for at, text in enumerate(texts)]
    return conclude(judged, documents, rows, FACTS)


def changed(found, **of_best) -> Evaluation:
    """The same with other facts about the recommended method."""
    choice = found.choice.copy()
    for name, value in of_best.items():
        choice[name] = choice[name].mask(choice.index == 0, value)
    return replace(found, choice=choice)


def doubts(found) -> str:
    return " ".join(limits(found))


def test_nothing_of_the_user_becomes_code(found):
    page = report_page(found)
    assert not BeautifulSoup(page, "html.parser").find_all("script")
    assert page.count("&lt;script&gt;") >= 6 and EVIL not in page
    for tag in ("table", "tr", "td", "details", "p", "div"):
        assert len(re.findall(rf"<{tag}\b", page)) == page.count(f"</{tag}>"), tag


def test_the_page_says_how_sure_at_what_price_and_what_spoke_against(found):
    assert found.settled and found.verdict == "recommended"
    assert str(found).startswith("Use LIME. LIME has 1.00")
    said = findings.certainty(found)
    for part in (
        "0.10 is taken not to matter",
        "misses the best by 0.00",
        "pointing 0% (35 texts, all methods alike)",
        "faithfulness 100% (40 texts, error 0.00)",
    ):
        assert part in said
    assert html.escape(said) in report_page(found)
    assert "1.2 s on one core" in findings.price(found)
    assert (found.objections.rival != found.best.method).all(), "nobody is a rival of its own"
    last = findings.list_objections(found)[-1]
    assert "Occlusion (1) is surely better (0.70 against 0.30)" in last or "above random" in last
    for part in (
        "people's marks",
        "has not learned",
        "1 of 40 texts have words",
        "Hybrid documents were not made",
    ):
        assert part in doubts(found)
    documents = [f"document {n}" for n in range(1, 36)]
    assert set(found.values.text) == {*map(str, range(40)), *documents}


def test_a_cheaper_method_that_cannot_be_told_apart_is_named_unless_it_was_made_elsewhere(found):
    cost = found.choice.method.map({"lime": 4.0}).fillna(2.0)
    near = found.choice.assign(leading=True, requested=cost)
    for other, told in (("occlusion_1", True), (EVIL, False)):
        others = replace(found, choice=near[near.method.isin(["lime", other])])
        assert ("cannot be told from it" in findings.price(others)) == told
    assert "was made elsewhere" in findings.price(replace(found, given=("lime",)))


def test_texts_on_which_erasure_tells_nothing_or_of_one_label_and_rows_without_use_are_said(found):
    """Where the model is as sure of the class when all is erased, NC is 0 for every method."""
    assert "NC is 0" not in doubts(found)
    blank = [
        replace(one, values={"nc": dict.fromkeys(one.values["nc"], 0.0)})
        for one in found.judged[:10]
    ]
    said = doubts(replace(found, judged=(*blank, *found.judged[10:])))
    assert "On 25% of texts NC is 0 for all methods and random scores" in said
    one = tuple(replace(row, label=1) for row in found.rows)
    said = doubts(replace(found, dropped={"empty text": 2, "empty label": 1}, rows=one))
    assert "could not be used: 2 (empty text) and 1 (empty label)." in said
    assert "All texts have one label" in said and "has not learned" not in said


def test_what_is_not_settled_is_said(found):
    for of_best, recommendation, certainty in (
        (
            {"settled": False, "shortfall": 0.17, "growth": 3},
            "Undecided: LIME is ahead",
            "by 0.17; about 120 texts would",
        ),
        ({"settled": False, "texts": 12}, "Undecided: LIME is ahead", "Fewer than 30 texts"),
        ({"above_random": False}, "None of these explanations: not even", "0.10 is taken"),
        ({"sound": False}, "None of these explanations: no method's scores", "0.10 is taken"),
    ):
        other = changed(found, **of_best)
        assert findings.recommendation(other).startswith(recommendation)
        assert certainty in findings.certainty(other)


def test_methods_between_which_no_difference_matters_are_one_answer(found):
    equal = found.choice.method.isin(["lime", "occlusion_1"])
    both = found.choice.assign(
        equal=equal, leading=equal, recommended=found.choice.method == "occlusion_1"
    )
    same = replace(found, choice=both)
    alike = "No difference that matters between LIME and Occlusion (1)"
    assert findings.recommendation(same) == f"{alike}: take the cheapest, Occlusion (1)."
    assert same.verdict == "no difference"
    open_one = replace(found, choice=both.assign(settled=False))
    assert findings.recommendation(open_one) == "Undecided between LIME and Occlusion (1)."
    assert open_one.verdict == "undecided"


def test_scores_that_have_not_converged_are_not_recommended(found):
    judged = []
    for at, one in enumerate(found.judged):
        made = one.explanation.attributions
        made = made | {"lime": replace(made["lime"], gap=5.0 if at < 10 else 0.0)}
        judged.append(replace(one, explanation=replace(one.explanation, attributions=made)))
    again = conclude(judged, found.documents, found.rows, FACTS)
    assert again.missed == {"lime": 0.25}
    assert again.best.method == EVIL and again.choice.score.max() == 1
    said = "LIME misses more than 10% of the sum that its scores owe on 25% of texts"
    assert said in doubts(again)


def test_the_table_is_of_the_texts_where_they_were_measured(found):
    rows = table(found)
    assert rows.nc["lime"] == pytest.approx(0.9) and (rows.pointing == 0.5).all()
    assert list(rows.columns[-4:]) == ["pointing", "nc", "ns", "simplicity"]
    assert rows.index[0] == "lime" and rows.score.notna().all()


def test_documents_without_a_sentence_of_the_predicted_class_have_no_vote(found):
    values = {"pointing": dict.fromkeys(("lime", "occlusion_1", EVIL, "random"), np.nan)}
    silent = [replace(one, values=values) for one in found.documents]
    again = conclude(found.judged, silent, found.rows, FACTS)
    assert "pointing" in found.choice and "pointing" not in again.choice
    assert again.best.method == "lime"
