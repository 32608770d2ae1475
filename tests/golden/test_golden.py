"""The numbers of every method on the tiny model are those that were committed."""

import json

import make
import numpy as np
import pytest

from attreval.methods import methods_for

KEPT = json.loads(make.PATH.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    """The numbers of now."""
    return make.compute()


def test_the_same_instances_and_methods_are_there(found):
    assert found.keys() == KEPT.keys() and len(KEPT) == 4 + 6 * 2
    families = {name: model.family for name, model in make.models().items()}
    for name, kept in KEPT.items():
        expected = sorted(methods_for(families[name.split(".")[0]]))
        assert list(kept["scores"]) == expected, "run tests/golden/make.py for the new methods"


def test_probabilities_and_scores_are_those_committed(found):
    for name, kept in KEPT.items():
        now = found[name]
        assert now["tokens"] == kept["tokens"], name
        np.testing.assert_allclose(
            now["probabilities"], kept["probabilities"], atol=1e-8, err_msg=name
        )
        for method, scores in kept["scores"].items():
            near = make.CLOSE.get(method, 1e-8)
            np.testing.assert_allclose(
                now["scores"][method], scores, rtol=near, atol=near, err_msg=f"{name}, {method}"
            )
