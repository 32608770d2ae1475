"""What the registry says of each method is what the method does: its kind, its limits, its draws, its precision."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from reference import models
from reference.functions import function_model
from reference.words import tiny_words

from attreval.methods import METHODS, methods_in
from attreval.methods.method import FAMILIES, KINDS, Budget, UnitSettings
from attreval.models.questions import AttentionPath, CellParts, Evaluate, HeadImportance, PathGradient, ValueZeroing
from attreval.models.scorer import Scorer
from compendium import project

CHECKOUT = project.home()

SMALL = Budget(
    path_steps=3,
    path_steps_most=3,
    lime_samples=20,
    shap_evaluations=12,
    riemann_steps=3,
    limsse_samples=10,
    limsse_epochs=3,
    units=UnitSettings(shapley_samples=20, attention_steps=2, attention_steps_most=2),
)
FIELDS = {
    name: METHODS[owner].limits
    for name, owner in (
        ("path", "integrated_gradients"),
        ("lime", "lime"),
        ("shap", "partition_shap"),
        ("riemann", "gradient_integrated_logit_l2"),
        ("limsse", "limsse_class"),
        ("coalitions", "kernel_shap"),
        ("links", "attention_attribution"),
    )
}


@pytest.fixture(scope="module")
def readers():
    """A small model of each family, all of which read the same words."""
    return {"transformer": models.tiny_model(), "function": function_model()} | {
        family: tiny_words(name)
        for family, name in (("recurrent", "lstm"), ("quasi", "qgru"), ("convolutional", "cnn"))
    }


class Overheard:
    """The questions that a method asks of a model, and how many numbers it drew while it asked them."""

    def __init__(self, method, model, budget=SMALL, seed=0):
        tokens = model.tokens(models.instance("the film was not good", "the plot was very bad"))
        rng = np.random.default_rng(seed)
        before = rng.bit_generator.state
        self.questions = []
        scorer = Scorer(model)
        (self.scores,) = scorer.converse([("x", self.listen(method.converse(tokens, 1, budget, rng)))])
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


def kind_of(questions) -> str:
    """The kind of a method that asks these questions."""
    if any(isinstance(q, CellParts) or getattr(q, "rule", None) for q in questions):
        return "propagation"
    for asked, kind in ((PathGradient, "gradient"), ((AttentionPath, HeadImportance, ValueZeroing), "attention")):
        if any(isinstance(q, asked) for q in questions):
            return kind
    return "perturbation" if questions else "baseline"


@pytest.mark.parametrize("name", METHODS)
def test_every_fact_is_there(name):
    method = METHODS[name]
    assert method.name == name and method.title and method.evaluations and method.source
    assert method.kind in KINDS and method.level in ("token", "pair", "span") and set(method.families) <= set(FAMILIES)
    known = {*Budget.model_fields, *(f"units.{name}" for name in UnitSettings.model_fields)}
    assert set(method.limits) <= known


@pytest.mark.parametrize("name", METHODS)
def test_kind_and_precision_are_told_by_the_questions(readers, name):
    method = METHODS[name]
    for family in method.families:
        heard = Overheard(method, readers[family])
        assert heard.questions or method.kind == "baseline"
        assert kind_of(heard.questions) == method.kind
        assert any(isinstance(q, Evaluate) and q.sampled for q in heard.questions) == method.sampled
        assert (heard.scores.values < 0).any() <= method.signed


def enlarge(budget: Budget, field: str) -> Budget:
    """The budget with one field doubled."""
    if field.startswith("units."):
        inner = field.removeprefix("units.")
        return budget.changed(units=budget.units.changed(**{inner: 2 * getattr(budget.units, inner)}))
    return budget.changed(**{field: 2 * getattr(budget, field)})


@pytest.mark.parametrize("name", METHODS)
def test_its_limits_and_no_others_change_how_much_it_asks(readers, name):
    method = METHODS[name]
    model = readers[method.families[0]]
    known = Overheard(method, model).requested
    for fields in FIELDS.values():
        budget = SMALL
        for field in fields:
            budget = enlarge(budget, field)
        changed = Overheard(method, model, budget).requested != known
        assert changed == bool(set(fields) & set(method.limits)), fields


@pytest.mark.parametrize("name", METHODS)
def test_it_asks_as_much_as_its_formula_says(readers, name):
    """Of a formula that says `about` or a range, half to all of it and a tenth."""
    method = METHODS[name]
    for family in method.families:
        tokens = readers[family].tokens(models.instance("the film was not good", "the plot was very bad"))
        said = method.cost(len(tokens), len(tokens.content), SMALL, layers=readers["transformer"].layers)
        asked = Overheard(method, readers[family]).requested
        rough = "about" in method.evaluations or " to " in method.evaluations
        assert 0.5 * said <= asked <= 1.1 * said if rough else asked == said, (family, said, asked)


@pytest.mark.parametrize("name", METHODS)
def test_who_draws_says_so(readers, name):
    """LIMSSE draws from a generator of its own, so that its three losses read the same substrings."""
    method = METHODS[name]
    heard = Overheard(method, readers[method.families[0]])
    another = Overheard(method, readers[method.families[0]], SMALL.changed(limsse_draw=1))
    own = not np.array_equal(heard.scores.values, another.scores.values)
    assert (heard.drew or own) == method.stochastic


def test_a_limit_is_a_number_for_all_its_fields():
    budget = METHODS["integrated_gradients"].limited(Budget(), 7)
    assert (budget.path_steps, budget.path_steps_most) == (7, 7) and budget.lime_samples == Budget().lime_samples
    assert METHODS["kernel_shap"].limited(Budget(), 9).units.shapley_samples == 9
    assert METHODS["gradient_l1"].limited(Budget(), 9) == Budget()


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


ONE_FILE = """
import sys
import attreval.methods
attreval.methods.__path__.append(sys.argv[1])  # as if the file lay in the package
import attreval as av
from attreval.catalogue import list_methods
from attreval.methods import METHODS, methods_for
from compendium.site.cards import methods_markdown
from reference import models

assert list(METHODS)[-2:] == ["gradients_combined", "gradient_max"], "a new method stands at the end"
assert methods_for("recurrent")[-1] == "gradient_max"
tiny = models.tiny_model()
found = av.explain(tiny, ["the film was good", "a bad plot"], ["gradient_max", "gradient_l1"])
assert (found[0].attributions["gradient_max"].scores > 0).all()
table = av.evaluate(tiny, found, marks=[[0, 0, 0, 1], [0, 1, 0]], draws=5)
assert set(table.method) == {"gradient_max", "gradient_l1", "random"}
(listed,) = [row for row in list_methods() if row["name"] == "gradient_max"]
assert listed["function"] == "methods/gradient_max.py::gradient_max" and listed["source"] == "Simonyan et al. 2014"
assert "{#method-gradient_max}" in methods_markdown([])
print("everywhere")
"""


def test_the_guides_method_is_one_file_and_reported_everywhere(tmp_path):
    guide = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "@method(" in block]
    (tmp_path / "gradient_max.py").write_text(code, encoding="utf-8")
    given = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT / "src", CHECKOUT / "tests")))}
    words = [sys.executable, "-c", ONE_FILE, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=given)
    assert done.stdout.strip() == "everywhere", done.stderr[-1500:]
