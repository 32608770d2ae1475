"""The report's page: every word that is not ours is escaped, and what spoke against the choice is said."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attreval.core.records import Instance
from compendium.evaluation import findings
from compendium.evaluation.asked import Asked
from compendium.evaluation.findings import Findings
from compendium.evaluation.page import make_page

EVIL = '<script>alert("1")</script>'


def make_findings(**changed) -> Findings:
    asked = Asked(f"/m/{EVIL}", Path("my.csv"), {"text": "t"}, (EVIL, "b"), ("lime",), 64, 90, seconds={"lime": 1.25})
    best = {"score": 0.9, "low": 0.8, "high": 1.0, "best": 0.97, "shortfall": 0.01, "leading": True, "settled": True}
    best |= {"method": "lime", "above_random": True, "recommended": True, "texts": 60, "requested": 200.0}
    best |= {"faithfulness": 0.9} | changed
    other = best | {"method": EVIL, "recommended": False, "requested": 1.0, "score": 0.85, "best": 0.03}
    chance = best | {"method": "random", "recommended": False, "score": 0.1, "low": 0.0, "high": 0.2, "leading": False}
    against = {"title": "NC", "votes": True, "mean": 0.2, "random": 0.1, "rival": EVIL, "rival_mean": 0.4}
    against = pd.DataFrame([against | {"metric": "nc", "surely": True, "below_random": False}])
    values = pd.DataFrame({"method": ["lime", EVIL, "random"], "metric": "nc", "mean": [0.2, 0.4, 0.1]})
    made = values.assign(task="hybrid_texts", mean=0.7)  # of documents made from the texts
    values = pd.concat([made, made.assign(metric="pointing"), values.assign(task="texts")], ignore_index=True)
    explained = pd.DataFrame({"gap_share": [0.5, 0.0], "dropped": [0, 7]})
    model = pd.Series({"accuracy": 0.5, "accuracy_low": 0.4, "majority": 0.5, "test_rows": 90})
    return Findings(asked, pd.DataFrame([best, other, chance]), against, values, model, 60, explained)


def explained() -> SimpleNamespace:
    text = f"{EVIL} ok"
    tokens = SimpleNamespace(content=np.array([1, 2]), offsets=np.array([[-1, 0, 0], [0, 0, len(EVIL)], [0, 27, 29]]))
    words = np.array([[0, 0, len(EVIL)], [0, len(EVIL) + 1, len(text)]])
    scores = {"lime": np.array([1.0, -0.5]), EVIL: np.zeros(2)}
    instance = Instance(EVIL, (text,), 1, words)
    return SimpleNamespace(instance=instance, tokens=tokens, scores=scores, predicted=0, probability=0.5)


class Tags(HTMLParser):
    """Collects the tags of a page, and what does not close."""

    def __init__(self):
        super().__init__()
        self.seen, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_nothing_of_the_user_becomes_code():
    page = make_page(make_findings(), [explained()], Path("none.png"))
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.seen and not tags.open
    assert page.count("&lt;script&gt;") >= 6 and EVIL not in page


def test_the_page_says_how_sure_at_what_price_and_what_spoke_against():
    found = make_findings()
    assert findings.recommendation(found) == "Use LIME."
    assert "80% to 100%" in findings.certainty(found) and "settled" in findings.certainty(found)
    said = findings.price(found)
    assert "200 model evaluations" in said and "1.2 s" in said and "for 1 model evaluation." in said
    assert findings.objections(found) == [f"NC: {EVIL} is surely better (0.40 against 0.20)."]
    limits = " ".join(findings.limits(found))
    for part in (
        "people's marks",
        "pointing",
        "has not learned the task",
        "on 50% of texts",
        "1 of 2 texts have words",
        "7 in all",
    ):
        assert part in limits, part


def test_what_was_made_elsewhere_has_no_price_here():
    found = make_findings()
    theirs = replace(found, asked=replace(found.asked, given=("lime",)))
    assert findings.price(theirs) == "It was made elsewhere; what that cost is not known here."
    rival = replace(found, asked=replace(found.asked, given=(EVIL,)))
    assert "cannot be told" in findings.price(found) and "cannot be told" not in findings.price(rival)


def test_rows_that_could_not_be_used_and_texts_of_one_label_are_said():
    found = make_findings()
    found = replace(found, asked=replace(found.asked, dropped={"empty text": 2, "empty label": 1}))
    said = " ".join(findings.limits(replace(found, model=pd.Series(found.model.to_dict() | {"majority": 1.0}))))
    assert "Rows of my.csv that could not be used: 2 (empty text) and 1 (empty label)." in said
    assert "All texts have one label" in said and "has not learned" not in said


@pytest.mark.parametrize(
    ("changed", "recommendation", "certainty"),
    [
        ({"settled": False}, "LIME, so far.", "might score up to 0.01 higher"),
        ({"settled": False, "texts": 12}, "LIME, so far.", "a judge with fewer than 30 texts settles nothing"),
        ({"above_random": False}, "None of these explanations", "beats 90%"),
    ],
)
def test_what_is_not_settled_is_said(changed, recommendation, certainty):
    found = make_findings(**changed)
    assert findings.recommendation(found).startswith(recommendation) and certainty in findings.certainty(found)


def test_the_table_is_of_the_texts_where_they_were_measured():
    table = findings.table(make_findings())
    assert table.nc.to_dict() == {"lime": 0.2, EVIL: 0.4, "random": 0.1} and (table.pointing == 0.7).all()
