"""METRICS: no metric lacks a fact, and a name means one quantity with one direction wherever it is written."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attreval.methods.techniques import TECHNIQUES
from attreval.metrics.metric import JUDGES, NEEDS
from attreval.metrics.planted.measures import PLANTED_METRICS
from attreval.metrics.registry import METRICS, STORED
from compendium.papers.joint import values
from compendium.papers.sun2024 import contrasts, properties, tables

RUN = {"task": "snli", "model": "m", "seed": 1}


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
    assert not metric.joint or metric.higher_is_better, "the joint study compares what is better when higher"


def test_measures_are_stored_under_one_name_each():
    assert len(STORED) == sum(bool(metric.stored) for metric in METRICS.values())
    assert all(metric.sign for metric in STORED.values())


def diagnosis():
    """What two techniques get: everything of the first differs from everything of the second."""
    rows = []
    for at, technique in enumerate(list(TECHNIQUES)[:2]):
        row = RUN | {"instance": "a", "technique": technique, "type": "token", "k": 1, "form": "symbol"}
        row |= {"comprehensiveness": 0.9 - at / 2, "sufficiency": 0.1 + at / 2, "drop_without": 0.0, "drop_only": 0.0}
        row |= {"token": 0.8 - at / 2, "interaction": 0.7 - at / 2, "correct": 1.0 - at}
        rows.append(row | {"units": 2, "entropy": 0.2 + at / 2, "random": 1.0, "uniform": 2.0})
    frame = pd.DataFrame(rows)
    return SimpleNamespace(changes=frame, agreement=frame, complexity=frame), frame


def lead(part):
    """By how much the first technique's value is above the second's."""
    first, second = (part.loc[TECHNIQUES[t]["token"]] for t in list(TECHNIQUES)[:2])
    return float(first - second)


def test_values_of_instances_have_the_direction_of_their_key():
    """The first technique is better in everything: its values are written as METRICS says."""
    written = properties.values_by_instance(*diagnosis()).groupby("measure")
    assert len(written) == 7
    for name, part in written:
        assert np.sign(lead(part.set_index("method").value)) == STORED[name].sign, name


def test_simplicity_and_complexity_are_opposite():
    few, many = np.array([1.0, 0, 0, 0]), np.ones(4)
    reading = SimpleNamespace(scores={"few": few, "many": many}, pieces=range(4))
    ((_, key, first), (_, _, second)) = values.simplicity_values(reading, ["few", "many"])
    assert METRICS[key].sign == np.sign(first - second) == 1
    text = SimpleNamespace()
    gap = PLANTED_METRICS["complexity"].measure(text, few, ()) - PLANTED_METRICS["complexity"].measure(text, many, ())
    assert METRICS["complexity"].sign == np.sign(gap) == -1


@pytest.mark.parametrize("name", PLANTED_METRICS)
def test_planted_metrics_are_those_of_the_registry(name):
    assert PLANTED_METRICS[name].higher_is_better == METRICS[name].higher_is_better
    assert PLANTED_METRICS[name].level == METRICS[name].level


def test_properties_are_turned_as_the_registry_says():
    for name, key in tables.PROPERTIES.items():
        row = RUN | {"kind": "encoder", "technique": "t", "type": "token", "form": None, "instance": "a"}
        frame = pd.DataFrame([row | {"property": name, "value": 0.5, "chance": 0.25}])
        turned = contrasts.choose(frame, contrasts.TypeContrast(name, "token", ("span",)))
        assert turned.value[0] == METRICS[key].sign * 0.5 and turned.chance[0] == METRICS[key].sign * 0.25
