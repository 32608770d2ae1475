"""Leaks: a class that the places encode is told, random places tell nothing, and the head's number
is seen.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import leaking, models

from attreval.core.tables import write_attributions, write_csv, write_tokens
from attreval.core.units import Units
from attreval.methods import TECHNIQUES
from attreval.methods.attention import choose_head
from attreval.methods.method import UnitSettings
from attreval.methods.run import Explained, explain_instances
from attreval.models.scorer import Scorer
from compendium import config
from compendium.papers.sun2024 import agents, explanations
from compendium.project import Results
from compendium.workflow.parameters import check_parameters
from compendium.workflow.step import Step

SIDES = st.lists(st.sampled_from([0, 1]), min_size=1, max_size=30).map(sorted)


@given(sides=SIDES, seed=st.integers(0, 999))
def test_places_equal_their_slow_twin(sides, seed):
    units = Units(tuple((u,) for u in range(len(sides))), np.array(sides))
    shown = np.flatnonzero(np.random.default_rng(seed).random(len(sides)) < 0.3).tolist()
    feature = (
        tuple(u for u in shown if sides[u] == sides[0]),
        tuple(u for u in shown if sides[u] != sides[0]),
    )
    found = agents.place_features(units, [feature])
    assert (
        found.tolist() == leaking.places(sides, set(shown), agents.BINS)
        and len(found) == 2 + 2 * agents.BINS
    )


def world(place_of_class, texts=240, seed=0):
    """(N, F) places and (N,) classes: six units a part, one of each part shown where
    `place_of_class` says.
    """
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, texts)
    places = []
    for k in classes.tolist():
        lengths = rng.integers(6, 15, 2)
        units = Units(tuple((u,) for u in range(lengths.sum())), np.repeat([0, 1], lengths))
        places.append(
            agents.place_features(
                units, [((place_of_class(k, lengths[0], rng),), (int(lengths[0]),))]
            )
        )
    return np.array(places), classes


def measure(places, classes, heads=None):
    return agents.measure_leak(places, classes, heads, 200, 0.95, np.random.default_rng(1))


def test_places_that_encode_the_class_are_a_leak_and_random_ones_are_not():
    planted = measure(*world(lambda k, n, rng: [0, n // 2, n - 1][k]))
    assert planted["positions"] > 0.99 and planted["lengths"] < 0.45 and planted["beyond_low"] > 0.4
    random = measure(*world(lambda k, n, rng: int(rng.integers(n))))
    assert random["low"] < 0.35 and random["positions"] < 0.42 and random["high"] < 0.48
    assert planted["majority"] == pytest.approx(random["majority"]) and planted["instances"] == 240


def test_a_head_that_is_chosen_for_the_class_tells_it():
    places, classes = world(lambda k, n, rng: int(rng.integers(n)))
    rng = np.random.default_rng(3)
    assert measure(places, classes, np.array([5, 0, 11])[classes])["head"] == 1
    assert measure(places, classes, rng.integers(0, 12, len(classes)))["head"] < 0.45
    one = measure(places, classes, np.full(len(classes), 4))
    assert one["head"] == pytest.approx(one["majority"]), "one head for all tells nothing"
    assert "head" not in measure(places, classes)


def test_where_one_class_is_predicted_there_is_nothing_to_tell():
    found = measure(np.zeros((4, 14)), np.zeros(4, int))
    assert found == {"instances": 4, "majority": 1.0}
    found = measure(np.zeros((4, 14)), np.array([0, 0, 0, 1]))
    assert set(found) == {"instances", "majority"}, "of the other class there is one text"


def test_the_head_for_all_classes_depends_on_neither_class_nor_text(tiny, texts):
    """`class_mean` is the same for every class, `one_for_all` for every text too."""
    scorer = Scorer(tiny, precision="float64")
    heads = {}
    for choice in explanations.HEAD_CHOICES:
        asked = UnitSettings(head_choice=choice)
        for target in range(3):
            jobs = [("x", choose_head(tiny.tokens(one), target, asked)) for one in texts]
            heads[choice, target] = scorer.converse(jobs)
    assert heads["class_mean", 0] == heads["class_mean", 1] == heads["class_mean", 2]
    assert len({head for target in range(3) for head in heads["one_for_all", target]}) == 1
    assert (
        heads["per_class", 0] != heads["per_class", 1]
        or heads["per_class", 1] != heads["per_class", 2]
    )
    assert UnitSettings().head_choice == explanations.HEAD_CHOICES[0] == "per_class", (
        "the default is the paper's"
    )


def test_leaks_of_a_run_are_measured_on_what_is_stored(tiny, tmp_path):
    profile = config.load_profile("smoke")
    only = profile.tasks["snli"].changed(models=["tiny"], of_model={})
    profile = profile.model_copy(update={"tasks": {"snli": only}})
    name = "07_sun2024_explanations"
    step = Step(name, check_parameters(name, {"model": "tiny"}), profile, Results(tmp_path))
    some = [models.instance("the brave film", "was not bad", name=f"i{n}") for n in range(3)]
    some += [
        models.instance("a slow plot was", "the film . very good", name=f"j{n}") for n in range(3)
    ]
    budget = explanations.budget_of_types(profile, "snli")
    scorer = Scorer(tiny)
    methods = explanations._methods_of(TECHNIQUES)
    made: list[Explained] = explain_instances(scorer, some, methods, budget, ("levels",))
    run = ("snli", "tiny", 1)
    write_attributions(
        step.results.typed_attributions(*run, 0), [a for e in made for a in e.attributions.values()]
    )
    write_tokens(step.results.typed_tokens(*run, 0), {e.instance.id: e.tokens for e in made})
    heads = explanations._explain_by_other_heads(step, scorer, made, budget, ("levels",))
    write_csv(step.results.table("heads", "07_sun2024_explanations", *run, 0), heads)
    assert sorted(heads.head_choice.value_counts().tolist()) == [6, 6, 6]
    gains = [
        (*run, "attention", "span", form, gain) for form, gain in (("symbol", 7.5), ("text", 1.0))
    ]
    gained = pd.DataFrame(
        gains, columns=["task", "model", "seed", "technique", "type", "form", "gain"]
    )
    found = agents.leak_table(step, gained)
    assert len(found) == 4 * (len(TECHNIQUES) - 1) + 4 * len(explanations.HEAD_CHOICES)
    assert found.instances.eq(6).all() and found.kind.eq("encoder").all()
    gains = found.dropna(subset=["agents_gain"])[
        ["technique", "type", "head_choice", "agents_gain"]
    ]
    assert gains.values.tolist() == [["attention", "span", "per_class", 7.5]]
    predicted = {e.predicted for e in made}
    assert found.positions.notna().all() == (len(predicted) > 1)
    assert found[found.technique != "attention"]["head"].isna().all()
    assert list(found)[:3] == ["task", "model", "kind"] and list(found)[-2:] == [
        "head",
        "agents_gain",
    ]
