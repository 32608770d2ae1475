"""What holds for every metric of scores: their unit does not matter, and what is no finite number
is refused.
"""

from dataclasses import replace
from inspect import signature
from itertools import product

import numpy as np
import pytest
from reference import case, models

from attreval.core.records import Attribution, Evidence
from attreval.core.units import find_units
from attreval.metrics import METRICS
from attreval.metrics.scored_text import ScoredText, Settings

ASKED = ["text", "method"]
OF_TEXTS = [n for n, m in METRICS.items() if [*signature(m.function).parameters] == ASKED]
VOTERS = ("one", "other", "random")
TEXTS = (
    ("the plot was brave and not slow at all and never bad", "a very good film"),
    ("the film was not very good", "a bad plot"),
)


def scored_texts(model, level, seed, unit=1.0, query=None):
    """Texts with all that any metric needs; the scores of the method `one` are multiplied by a
    unit.
    """
    rng = np.random.default_rng(seed)
    asked = []

    def draw(*shape):
        """Scores of every method, with ties and of both signs."""
        drawn = {name: rng.integers(-3, 4, shape) * 1.0 for name in VOTERS}
        return drawn | {"one": drawn["one"] * unit}

    for at, parts in enumerate(TEXTS):
        one = models.instance(*parts, name=f"s{at}")
        marks = rng.integers(0, 2, (2, len(one.words))).astype(float)
        one = replace(one, evidence=Evidence(marks=marks))
        tokens = model.tokens(one)
        units = find_units(tokens, "subword")
        size = len(tokens.content)
        pairs = units.pairs().tolist()
        groups = pairs if level == "pair" else [[u] for u in range(size)]
        features = tuple(tuple(units.groups[u][0] for u in group) for group in groups)
        made = {}
        for name, some in draw(len(features)).items():
            made[name] = Attribution(one.id, name, 1, level, features, some)
        text = ScoredText(
            one,
            tokens,
            draw(size),
            names=(seed, at),
            settings=Settings(k=3, query=query, beam=2),
            attributions=made,
            units=units,
            sizes=(1, 3),
            relations=tuple(((a,), (b,)) for a, b in pairs[:2]),
            neighbours=draw(3, size),
            randomised=draw(2, size),
            infill=lambda tokens, kept: np.where(kept, tokens.ids, tokens.mask_id),
            texts=asked,
        )
        asked.append(text)
    return asked


def values(scorer, model, *given):
    """(metric, method) -> what each metric gives each method on the first text."""
    texts = {level: scored_texts(model, level, *given)[0] for level in ("token", "pair")}
    asked = [(name, method) for name in OF_TEXTS for method in VOTERS]
    talks = (("x", METRICS[name].ask(texts[METRICS[name].level], method)) for name, method in asked)
    return dict(zip(asked, scorer.converse(talks), strict=True))


def test_no_metric_changes_with_the_unit_of_scores(tiny, exact):
    """Powers of two change no digit, so that values are the same to the last one."""
    for seed, query in ((0, None), (1, 0), (2, 1)):
        plain = values(exact, tiny, seed, 1.0, query)
        assert all(np.isfinite(value) for value in plain.values())
        for power in (-40, 40):
            assert values(exact, tiny, seed, 2.0**power, query) == plain


def test_scores_that_are_no_finite_numbers_reach_no_metric(tiny):
    text = scored_texts(tiny, "token", 0)[0]
    bads = (np.nan, np.inf, -np.inf)
    for bad, field in product(bads, ("scores", "neighbours", "randomised")):
        held = {name: np.array(scores) for name, scores in getattr(text, field).items()}
        held["other"][..., 1] = bad
        said = f"'other' on 's0' must be finite numbers; position .*1 is {bad}"
        with case(bad, field), pytest.raises(ValueError, match=said):
            replace(text, **{field: held})
