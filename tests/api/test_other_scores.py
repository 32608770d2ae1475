"""Scores of disturbed texts and of shuffled weights, as evaluate takes them."""

import numpy as np
import pytest
from reference import models, words

import attreval as av
from attreval.api.other_scores import explain_neighbours, explain_randomised, shuffle_weights
from attreval.methods.method import Budget

TEXTS = ["the film was very good", ("the brave film", "not bad"), "good"]
METHODS = ["gradient_x_input", "occlusion_1", "random"]
NAMES = ["max_sensitivity", "parameter_randomisation"]


@pytest.mark.parametrize(
    "model", [models.tiny_model(), words.tiny_words("lstm")], ids=["transformer", "lstm"]
)
def test_scores_of_neighbours_and_of_shuffled_weights_are_judged(model):
    found = av.explain(model, TEXTS, METHODS)
    before = {name: weights.clone() for name, weights in model.network.state_dict().items()}
    near = explain_neighbours(model, found, 3, Budget())
    drawn = explain_randomised(model, found, 3, Budget())
    assert all(
        (weights == before[name]).all() for name, weights in model.network.state_dict().items()
    )
    for one, a, b in zip(found, near, drawn, strict=True):
        n = len(one.tokens.content)
        assert set(a) == set(b) == set(METHODS)
        assert all(a[m].shape == (min(3, n), n) and b[m].shape == (3, n) for m in METHODS)
    table = av.evaluate(model, found, NAMES, draws=10, neighbours=near, randomised=drawn)
    values = table.pivot(index="method", columns="metric", values="mean")
    assert list(values.index) == sorted(METHODS) and values.loc["random", "max_sensitivity"] > 0.5
    assert (values.parameter_randomisation > 0.05).all()


def test_a_neighbour_has_one_token_masked(tiny):
    found = av.explain(tiny, TEXTS[:1], "occlusion_1")
    (near,) = explain_neighbours(tiny, found, 5)
    tokens = found[0].tokens
    seen = near["occlusion_1"]
    masked = [np.flatnonzero(row == 0) for row in seen]  # masking what is masked takes nothing
    assert sorted(int(at[0]) for at in masked if len(at)) == list(range(len(tokens.content)))


def test_weights_are_shuffled_from_the_last_layer_down(tiny):
    names = list(tiny.network.state_dict())
    moved = []
    for share in (0.25, 0.5, 1.0):
        other = shuffle_weights(tiny, share).network.state_dict()
        pairs = [(name, tiny.network.state_dict()[name], other[name]) for name in names]
        assert all(np.array_equal(np.sort(a.flatten()), np.sort(b.flatten())) for _, a, b in pairs)
        moved.append({name for name, a, b in pairs if not np.array_equal(a, b)})
    assert moved[0] < moved[1] < moved[2] == set(names)
    assert any("classifier" in name for name in moved[0]) and not any(
        "embeddings" in name for name in moved[1]
    )


def test_a_function_has_no_weights(tiny):
    model = av.wrap(lambda texts: np.tile([0.4, 0.6], (len(texts), 1)), labels=("a", "b"))
    found = av.explain(model, ["good film"], "occlusion_1")
    with pytest.raises(ValueError, match="function of texts"):
        explain_randomised(model, found)
