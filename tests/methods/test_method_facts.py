"""What the registry says of each method is what the method does: its kind, its limits, its draws,
its precision.
"""

import functools

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT, models
from reference.functions import function_model
from reference.words import tiny_words

from attreval.methods import METHODS, methods_in
from attreval.methods.method import FAMILIES, KINDS, Budget, UnitSettings
from attreval.methods.method import method as as_method
from attreval.models.questions import (
    AttentionPath,
    CellParts,
    Evaluate,
    HeadImportance,
    PathGradient,
    ValueZeroing,
)
from attreval.models.scorer import Scorer

TEXT = models.instance("the film was not good", "the plot was very bad")
FEW = {
    "path_steps": 3,
    "path_steps_most": 3,
    "riemann_steps": 3,
    "limsse_epochs": 3,
    "limsse_samples": 10,
}
UNITS = UnitSettings(shapley_samples=20, attention_steps=2, attention_steps_most=2)
SMALL = Budget(**FEW, lime_samples=20, shap_evaluations=12, units=UNITS)
LIMITED = (
    "integrated_gradients",
    "lime",
    "partition_shap",
    "gradient_integrated_logit_l2",
    "limsse_class",
)
LIMITED += ("kernel_shap", "attention_attribution")
FIELDS = [
    METHODS[name].limits for name in LIMITED
]  # the fields of a budget that are doubled together


# a small model of each family, all of which read the same words
READERS = {
    "transformer": models.tiny_model(),
    "function": function_model(),
    "recurrent": tiny_words("lstm"),
}
READERS |= {"quasi": tiny_words("qgru"), "convolutional": tiny_words("cnn")}
FAMILIES_OF = [(name, family) for name, method in METHODS.items() for family in method.families]


class Overheard:
    """The questions that a method asks of a model, and how many numbers it drew while it asked
    them.
    """

    def __init__(self, method, model, budget=SMALL, seed=0, text=TEXT):
        rng = np.random.default_rng(seed)
        scorer = Scorer(model)
        self.questions = []
        before = rng.bit_generator.state
        (self.scores,) = scorer.converse(
            [("x", self.listen(method.converse(model.tokens(text), 1, budget, rng)))]
        )
        self.drew = rng.bit_generator.state != before
        self.requested = scorer.costs["x"].requested if "x" in scorer.costs else 0

    def listen(self, conversation):
        """The same conversation; its questions are kept."""
        answer = None
        while True:
            try:
                question = conversation.send(answer)
            except StopIteration as stop:
                return stop.value
            self.questions.append(question)
            answer = yield question


@functools.cache
def overheard(name, family):
    """What a method asks by the small budget."""
    return Overheard(METHODS[name], READERS[family])


def kind_of(questions) -> str:
    """The kind of a method that asks these questions."""
    if any(isinstance(q, CellParts) or getattr(q, "rule", None) for q in questions):
        return "propagation"
    for asked, kind in (
        (PathGradient, "gradient"),
        ((AttentionPath, HeadImportance, ValueZeroing), "attention"),
    ):
        if any(isinstance(q, asked) for q in questions):
            return kind
    return "perturbation" if questions else "baseline"


@pytest.mark.parametrize("name", METHODS)
def test_every_fact_is_there(name):
    method = METHODS[name]
    assert method.name == name and method.title and method.evaluations and method.source
    assert (
        method.kind in KINDS
        and method.level in ("token", "pair", "span")
        and set(method.families) <= set(FAMILIES)
    )
    known = {*Budget.model_fields, *(f"units.{name}" for name in UnitSettings.model_fields)}
    assert set(method.limits) <= known


@pytest.mark.parametrize(("name", "family"), FAMILIES_OF)
def test_its_questions_are_those_of_its_kind_and_as_many_as_its_formula_says(name, family):
    """Of a formula that says `about` or a range, half to all of it and a tenth."""
    method = METHODS[name]
    heard = overheard(name, family)
    assert heard.questions or method.kind == "baseline"
    assert kind_of(heard.questions) == method.kind
    assert any(isinstance(q, Evaluate) and q.sampled for q in heard.questions) == method.sampled
    assert (heard.scores.values < 0).any() <= method.signed
    tokens = READERS[family].tokens(TEXT)
    said = method.cost(
        len(tokens), len(tokens.content), SMALL, layers=READERS["transformer"].layers
    )
    rough = "about" in method.evaluations or " to " in method.evaluations
    assert 0.5 * said <= heard.requested <= 1.1 * said if rough else heard.requested == said


@pytest.mark.parametrize(("name", "family"), FAMILIES_OF)
def test_it_asks_of_short_texts_as_many_as_its_formula_says(name, family):
    """What `about` says holds to a third; the end of a range is the most."""
    method = METHODS[name]
    model = READERS[family]
    ample = SMALL.changed(limsse_samples=3000, shap_evaluations=500)
    words = ["the", "film", "was", "not", "very", "good"]
    for count in range(1, len(words) + 1):
        text = models.instance(" ".join(words[:count]))
        tokens = model.tokens(text)
        said = method.cost(
            len(tokens), len(tokens.content), ample, layers=READERS["transformer"].layers
        )
        asked = Overheard(method, model, ample, text=text).requested
        if "about" in method.evaluations:
            assert abs(asked - said) <= said / 3
        else:
            assert asked <= said and (asked == said or " to " in method.evaluations)


def enlarge(fields) -> Budget:
    """The small budget with some fields doubled."""
    of_units = [field.removeprefix("units.") for field in fields if field.startswith("units.")]
    units = SMALL.units.changed(**{field: 2 * getattr(SMALL.units, field) for field in of_units})
    own = {field: 2 * getattr(SMALL, field) for field in fields if not field.startswith("units.")}
    return SMALL.changed(units=units, **own)


@pytest.mark.parametrize("name", METHODS)
def test_its_limits_and_no_others_change_how_much_it_asks(name):
    method = METHODS[name]
    known = overheard(name, method.families[0]).requested
    own = [fields for fields in FIELDS if set(fields) & set(method.limits)]
    others = [field for fields in FIELDS if fields not in own for field in fields]
    for fields in (*own, others):
        changed = Overheard(method, READERS[method.families[0]], enlarge(fields)).requested != known
        assert changed == (fields in own), fields


@pytest.mark.parametrize("name", METHODS)
def test_who_draws_says_so(name):
    """LIMSSE draws from a generator of its own, so that its three losses read the same
    substrings.
    """
    method = METHODS[name]
    heard = overheard(name, method.families[0])
    another = Overheard(method, READERS[method.families[0]], SMALL.changed(limsse_draw=1))
    own = not np.array_equal(heard.scores.values, another.scores.values)
    assert (heard.drew or own) == method.stochastic


@pytest.mark.parametrize(
    "paper, table, column",
    [
        ("poerner2018", "poerner_table2", "method"),
        ("kamp2023", "kamp_dynamic_k_means", "method"),
        ("zhao2023", "zhao_table6_full", "fa"),
    ],
)
def test_names_in_papers_are_the_published_ones_in_their_order(paper, table, column):
    published = pd.read_csv(CHECKOUT / "paper" / "reported" / f"{table}.csv")[column]
    ours = set(methods_in(paper))
    assert [name for name in dict.fromkeys(published) if name in ours] == list(methods_in(paper))
    rows = [m.in_papers[paper][0] for m in METHODS.values() if paper in m.in_papers]
    assert sorted(rows) == list(range(1, len(rows) + 1))


def test_a_method_says_why_it_does_not_apply_where_it_does_not():
    for method in METHODS.values():
        for family in FAMILIES:
            assert bool(method.why_not(family)) == (family not in method.families), method.name
    assert "cells" in METHODS["decomposition"].why_not("transformer")
    assert "attention" in METHODS["attention"].why_not("convolutional")


def test_a_cost_is_a_number_or_a_function_and_none_is_made_of_words():
    def converse(tokens, target, budget, rng):
        yield

    facts = {"source": "ours", "kind": "perturbation"}
    given = as_method(
        "Mine",
        evaluations="n + 1",
        cost=lambda length, content, budget, layers=1: content + 1,
        **facts,
    )
    fixed = as_method("Mine", evaluations="two for each side", cost=4, **facts)
    known = as_method("Mine", evaluations="3", **facts)
    assert [one(converse).cost(9, 7, SMALL, 1) for one in (given, fixed, known)] == [8, 4, 3]
    with pytest.raises(
        ValueError, match="'one for each token' evaluations, which is not a number; give cost="
    ):
        as_method("Mine", evaluations="one for each token", **facts)
