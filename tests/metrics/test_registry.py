"""METRICS: no metric lacks a fact, a name means one quantity with one direction, and a file is
enough for a new one.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT, models

from attreval.methods import TECHNIQUES
from attreval.metrics import METRICS, STORED
from attreval.metrics.metric import JUDGES, NEEDS, metric
from attreval.metrics.normalised_aopc import MEASURES, Limits
from attreval.metrics.scored_text import ScoredText, without_asking
from attreval.metrics.separation import separation
from attreval.trial.measure import OFFERED, try_metrics
from compendium.papers.sun2024 import contrasts, properties, tables

RUN = {"task": "snli", "model": "m", "seed": 1}
FACTS = {
    "judge": "agreement",
    "source": "ours",
    "needs": ("scores",),
    "higher_is_better": True,
    "about": "What.",
}


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_no_metric_lacks_a_fact(metric):
    assert metric.title and metric.source and metric.about.endswith(".")
    assert metric.judge in ("", *JUDGES)
    assert metric.needs and set(metric.needs) <= set(NEEDS)
    assert metric.range[0] < metric.range[1]
    assert callable(metric.function) and metric.function.__module__.startswith("attreval.metrics.")
    assert metric.level in ("token", "pair")
    assert not metric.hard or METRICS[metric.hard].sign == metric.sign
    assert not metric.turned or metric.higher_is_better
    assert not metric.joint or metric.higher_is_better, (
        "the joint study compares what is better when higher"
    )
    assert not metric.notebook or any((CHECKOUT / "notebooks").glob(f"{metric.notebook}.ipynb"))
    others = [
        other for one in METRICS.values() if one is not metric for other in (one.name, *one.also)
    ]
    assert not {metric.name, *metric.also} & set(others)


def test_measures_are_stored_under_one_name_each_and_places_are_all_different():
    assert len(STORED) == sum(bool(metric.stored) for metric in METRICS.values())
    assert all(metric.sign for metric in STORED.values())
    places = [metric.order for metric in METRICS.values()]
    assert 0 not in places and places == sorted(set(places))


def text_of(scores):
    """A text of four words with these scores by method."""
    held = {name: np.array(one, float) for name, one in scores.items()}
    return ScoredText(models.instance("good bad slow film"), None, held)


def test_what_metrics_share_is_asked_once_and_each_value_is_held():
    text = text_of({"a": [1.0, 2.0]})
    asked = []
    one = metric("One", name="one", **FACTS)(lambda text, method: asked.append(method) or 2)
    assert [without_asking(one.ask(text, "a")) for _ in range(2)] == [2.0, 2.0] and asked == ["a"]
    assert text.found["one", "a"] == 2.0

    def talk(text, method):
        return 1.0 + (yield "a question")

    two = metric("Two", name="two", **FACTS)(talk)
    assert np.isnan(without_asking(two.ask(text, "a"))) and ("two", "a") not in text.found
    running = two.ask(text, "a")
    assert next(running) == "a question"
    with pytest.raises(StopIteration):
        running.send(2.0)
    assert without_asking(two.ask(text, "a")) == 3.0


def diagnosis():
    """What two techniques get: everything of the first differs from everything of the second."""
    rows = []
    for at, technique in enumerate(list(TECHNIQUES)[:2]):
        row = RUN | {
            "instance": "a",
            "technique": technique,
            "type": "token",
            "k": 1,
            "form": "symbol",
        }
        row |= {
            "comprehensiveness": 0.9 - at / 2,
            "sufficiency": 0.1 + at / 2,
            "drop_without": 0.0,
            "drop_only": 0.0,
        }
        row |= {"token": 0.8 - at / 2, "interaction": 0.7 - at / 2, "correct": 1.0 - at}
        rows.append(row | {"units": 2, "entropy": 0.2 + at / 2, "random": 1.0, "uniform": 2.0})
    frame = pd.DataFrame(rows)
    return SimpleNamespace(changes=frame, agreement=frame, complexity=frame), frame


def test_values_of_instances_have_the_direction_of_their_key():
    """The first technique is better in everything: its values are written as METRICS says."""
    written = properties.properties_by_instance(*diagnosis()).groupby("measure")
    assert len(written) == 7
    for name, part in written:
        values = part.set_index("method").value
        first, second = (values.loc[TECHNIQUES[t]["token"]] for t in list(TECHNIQUES)[:2])
        assert np.sign(first - second) == STORED[name].sign, name


def test_forms_of_a_measure_have_the_direction_of_what_they_say():
    text = text_of({"few": [1, 0, 0, 0], "many": [1, 1, 1, 1]})
    for name in ("simplicity", "complexity"):
        few, many = (without_asking(METRICS[name].ask(text, method)) for method in text.scores)
        assert METRICS[name].sign == np.sign(few - many) == (1 if name == "simplicity" else -1)
    limits = Limits(*np.array([[-0.2, 0.6], [-0.1, 0.5]]), exact=True)
    for measure in MEASURES:
        lead = limits.place(measure, 0.4) - limits.place(measure, 0.3)
        assert METRICS[f"naopc_{measure}"].sign == METRICS[measure].sign * np.sign(lead)


def test_properties_are_turned_as_the_registry_says():
    for name, about in tables.PROPERTIES.items():
        row = RUN | {
            "kind": "encoder",
            "technique": "t",
            "type": "token",
            "form": None,
            "instance": "a",
            "agent": 0,
        }
        frame = pd.DataFrame([row | {"property": name, "value": 0.5, "chance": 0.25}])
        lead = contrasts.mean_of_cells(frame, contrasts.TypeContrast((name,), "token", ("random",)))
        assert lead == METRICS[about.metric].sign * 0.25


# asked by name alone, and not of a method on many texts, of which there is no right and wrong on a
# single one
ASKED = {
    name: one
    for name, one in METRICS.items()
    if one.by_name and not one.planted and set(one.needs) <= OFFERED
}
ASKED = {name: one for name, one in ASKED.items() if name not in ("lexical_bias", "position_bias")}
BLIND = {"monotonicity", "monotonicity_ranks", "sparseness"}


def test_the_truth_comes_before_random_and_reversed_scores():
    """Contract 7, in the mean over two planted worlds, but for metrics that are known not to."""
    for disturbs, texts, draws in ((True, 3, 1), (False, 6, 2)):  # disturbed texts are dear
        some = {name: one for name, one in ASKED.items() if one.disturbs == disturbs}
        explainers = ("oracle", "random", "reversed")
        trial = try_metrics(some, texts, draws, ("one", "additive"), explainers)
        cells = separation(trial.values, 20, 0.95)
        first = cells.groupby(["metric", "explainer"]).separation.mean().unstack()
        assert set(first.index) == set(some)
        failing = first[["random", "reversed"]].min(axis=1) <= 0.6
        assert set(first.index[failing]) == BLIND & set(some), first
    assert {name for name in ASKED if METRICS[name].blind} == BLIND and len(ASKED) > 20
