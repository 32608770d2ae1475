"""What the registry says of each method is what the method does: its kind, its limits, its draws,
its precision.
"""

import functools
from itertools import product

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT, models
from reference.functions import function_model
from reference.words import tiny_words

from attreval.api.catalogue import list_methods
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
SMALL = Budget(
    path_steps=3,
    path_steps_most=3,
    riemann_steps=3,
    limsse_epochs=3,
    limsse_samples=10,
    lime_samples=20,
    shap_evaluations=12,
    units=UnitSettings(shapley_samples=20, attention_steps=2, attention_steps_most=2),
)
FIELDS = set(filter(None, (method.limits for method in METHODS.values())))  # doubled together
# a small model of each family, all of which read the same words
READERS = {
    "transformer": models.tiny_model(),
    "function": function_model(),
    "recurrent": tiny_words("lstm"),
    "quasi": tiny_words("qgru"),
    "convolutional": tiny_words("cnn"),
}
LAYERS = READERS["transformer"].layers


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
def overheard(name, family=None):
    """What a method asks by the small budget."""
    return Overheard(METHODS[name], READERS[family or METHODS[name].families[0]])


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


def test_every_fact_is_there():
    known = {*Budget.model_fields, *(f"units.{name}" for name in UnitSettings.model_fields)}
    for name, method in METHODS.items():
        assert method.name == name and method.title and method.evaluations and method.source
        assert method.kind in KINDS and method.level in ("token", "pair", "span"), name
        assert set(method.families) <= set(FAMILIES), name
        assert set(method.limits) <= known, name


def test_what_it_computes_is_a_whole_sentence_on_its_card():
    for row in list_methods():
        assert row["computes"].endswith("."), row["name"]


def test_its_questions_are_those_of_its_kind_and_as_many_as_its_formula_says():
    """Of a formula that says `about` or a range, half to all of it and a tenth."""
    for name, method in METHODS.items():
        for family in method.families:
            heard = overheard(name, family)
            case = (name, family)
            assert heard.questions or method.kind == "baseline", case
            assert kind_of(heard.questions) == method.kind, case
            sampled = any(isinstance(q, Evaluate) and q.sampled for q in heard.questions)
            assert sampled == method.sampled, case
            assert (heard.scores.values < 0).any() <= method.signed, case
            tokens = READERS[family].tokens(TEXT)
            said = method.cost(len(tokens), len(tokens.content), SMALL, layers=LAYERS)
            least = said
            most = said
            if "about" in method.evaluations or " to " in method.evaluations:
                least = 0.5 * said
                most = 1.1 * said
            assert least <= heard.requested <= most, case


def test_it_asks_of_short_texts_as_many_as_its_formula_says():
    """What `about` says holds to a third; the end of a range is the most."""
    ample = SMALL.changed(limsse_samples=3000, shap_evaluations=500)
    words = ["the", "film", "was", "not", "very", "good"]
    for name, method in METHODS.items():
        for family, count in product(method.families, (1, 2, 3, len(words))):
            text = models.instance(" ".join(words[:count]))
            tokens = READERS[family].tokens(text)
            said = method.cost(len(tokens), len(tokens.content), ample, layers=LAYERS)
            asked = Overheard(method, READERS[family], ample, text=text).requested
            case = (name, family, count, asked, said)
            if "about" in method.evaluations:
                assert abs(asked - said) <= said / 3, case
            else:
                assert asked <= said and (asked == said or " to " in method.evaluations), case


def enlarge(fields) -> Budget:
    """The small budget with some fields doubled."""
    own = {}
    units = {}
    for field in fields:
        name = field.removeprefix("units.")
        if name == field:
            own[name] = 2 * getattr(SMALL, name)
        else:
            units[name] = 2 * getattr(SMALL.units, name)
    return SMALL.changed(units=SMALL.units.changed(**units), **own)


def test_its_limits_and_no_others_change_how_much_it_asks():
    for name, method in METHODS.items():
        own = [fields for fields in FIELDS if set(fields) & set(method.limits)]
        others = [field for fields in FIELDS if fields not in own for field in fields]
        others = [field for field in others if field not in method.limits]
        for fields in (*own, others):
            larger = Overheard(method, READERS[method.families[0]], enlarge(fields))
            changed = larger.requested != overheard(name).requested
            assert changed == (fields in own), (name, fields)


def test_who_draws_says_so():
    """LIMSSE draws from a generator of its own: its three losses read the same substrings."""
    for name, method in METHODS.items():
        heard = overheard(name)
        another = Overheard(method, READERS[method.families[0]], SMALL.changed(limsse_draw=1))
        own = not np.array_equal(heard.scores.values, another.scores.values)
        assert (heard.drew or own) == method.stochastic, name


def test_names_in_papers_are_the_published_ones_in_their_order():
    for paper, table, column in (
        ("poerner2018", "poerner_table2", "method"),
        ("kamp2023", "kamp_dynamic_k_means", "method"),
        ("zhao2023", "zhao_table6_full", "fa"),
    ):
        published = pd.read_csv(CHECKOUT / "paper" / "reported" / f"{table}.csv")[column]
        ours = list(methods_in(paper))
        assert [name for name in dict.fromkeys(published) if name in ours] == ours
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

    mine = functools.partial(as_method, "Mine", source="ours", kind="perturbation")
    for evaluations, cost, expected in (
        ("n + 1", lambda length, content, budget, layers=1: content + 1, 8),
        ("two for each side", 4, 4),
        ("3", None, 3),
    ):
        made = mine(evaluations=evaluations, cost=cost)(converse)
        assert made.cost(9, 7, SMALL, 1) == expected
    with pytest.raises(ValueError, match="give cost="):
        mine(evaluations="one for each token")
