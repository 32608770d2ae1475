"""Attention of the head, attention attribution and the choice of the head against slow twins, BERT
and BART shaped.
"""

import numpy as np
import pytest
import torch
from reference import architectures as shapes
from reference import attending, case, erasures, models, pieces
from reference.words import tiny_words

from attreval.core.units import find_units
from attreval.methods import METHODS, TECHNIQUES
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.metrics.unified.faithfulness import ask_changes
from attreval.models.questions import HeadImportance
from attreval.models.questions.inside import class_layers
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer

PAIR = ("the brave film", "not unbelievably bad")
COARSE = {"attention_steps": 3, "attention_steps_most": 3}


@pytest.fixture(scope="module")
def bart():
    """An encoder-decoder of 2 + 1 layers with random weights; do not change it."""
    return shapes.tiny_classifier("bart")


@pytest.fixture(params=["tiny", "bart"])
def model(request):
    return request.getfixturevalue(request.param)


def ask(model, name, tokens, target=1, **settings):
    """The Scores of one method."""
    talk = METHODS[name].converse(
        tokens, target, Budget(units=UnitSettings(**settings)), np.random.default_rng(0)
    )
    return Scorer(model, precision="float64").converse([("x", talk)])[0]


def importance(model, *asked):
    """(H,) how important the heads of a model are."""

    def talk():
        return (yield HeadImportance(*asked))

    return Scorer(model, precision="float64").converse([("x", talk())])[0]


def test_attribution_is_the_path_integral_layer_by_layer(tiny):
    for rule in ["gauss", "riemann"]:
        for clip in [True, False]:
            with case(rule, clip):
                tokens = tiny.tokens(models.instance(*PAIR))
                found = ask(
                    tiny,
                    "attention_attribution",
                    tokens,
                    attention_rule=rule,
                    attention_clip=clip,
                    **COARSE,
                )
                nodes, weights = np.polynomial.legendre.leggauss(3)
                nodes, weights = (
                    ((nodes + 1) / 2, weights / 2)
                    if rule == "gauss"
                    else (np.arange(3) / 3, np.full(3, 1 / 3))
                )
                matrix = attending.attribution(
                    tiny.at("float64"), tokens, 1, nodes.tolist(), weights.tolist()
                )
                matrix = np.maximum(matrix, 0) if clip else matrix
                units = find_units(tokens, "subword")
                for (a, b), feature, score in zip(
                    units.pairs().tolist(), found.features, found.values, strict=True
                ):
                    i = units.groups[a][0]
                    j = units.groups[b][0]
                    assert set(feature) == {i, j}
                    np.testing.assert_allclose(score, (matrix[i, j] + matrix[j, i]) / 2, atol=1e-10)


def test_attribution_is_complete(model, texts):
    """What a layer's links sum to is what its attention adds to the probability; few nodes are told
    by their gap.
    """
    tokens = model.tokens(texts[1])
    for name in ("attention_attribution", "attention_attribution_spans"):
        coarse, fine = (
            ask(model, name, tokens, attention_steps=n, attention_steps_most=n) for n in (1, 100)
        )
        assert abs(fine.gap) < 1e-10 and abs(coarse.gap) > 1e-5
    until = {"attention_steps": 1, "attention_steps_most": 64, "attention_tolerance": 1e-6}
    assert abs(ask(model, "attention_attribution", tokens, **until).gap) <= 1e-6


def test_the_gap_is_the_one_of_the_layer_that_misses_most(tiny):
    for target in [0, 1, 2]:
        with case(target):
            tokens = tiny.tokens(models.instance(*PAIR))
            found = ask(
                tiny,
                "attention_attribution",
                tokens,
                target,
                attention_steps=1,
                attention_steps_most=1,
            )
            gaps = []
            for layer in range(2):
                nodes = [
                    torch.tensor([at], dtype=torch.float64, requires_grad=True)
                    for at in (0.0, 0.5, 1.0)
                ]
                start, p, end = (
                    attending.scaled_probability(tiny.at("float64"), tokens, target, layer, x)[0]
                    for x in nodes
                )
                gaps.append((torch.autograd.grad(p, nodes[1])[0] - (end - start)).item())
            assert found.gap == pytest.approx(max(gaps, key=abs), abs=1e-10)


def encoder_states(model, tokens):
    """Hidden states of the encoder, layer by layer, and the attention of its last layer: (L, D)
    each, (H, L, L).
    """
    network = model.at("float64")
    network.set_attn_implementation("eager")
    given = {
        "input_ids": torch.from_numpy(tokens.ids[None]),
        "output_hidden_states": True,
        "output_attentions": True,
    }
    with torch.no_grad():
        if network.config.is_encoder_decoder:
            out = network.model.encoder(**given)
        else:
            out = network.bert(token_type_ids=torch.from_numpy(tokens.segments[None]), **given)
    return [h[0].numpy() for h in out.hidden_states], out.attentions[-1][0].numpy()


def classifier(network):
    """The two linear layers of the head as (weights, bias)."""
    if network.config.is_encoder_decoder:
        layers = network.classification_head.dense, network.classification_head.out_proj
    else:
        layers = network.bert.pooler.dense, network.classifier
    return [(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in layers]


def test_the_most_important_head(model, texts):
    for matrix in ["transposed", "code"]:
        for state in ["after", "before"]:
            with case(matrix, state):
                (w1, _), (w2, b2) = classifier(model.at("float64"))
                for tokens in map(model.tokens, texts[2:4]):
                    hidden = encoder_states(model, tokens)[0][-1 if state == "after" else -2][0]
                    for target in range(3):
                        found = importance(
                            model, tokens.ids, tokens.segments, target, matrix, state
                        )
                        column = (
                            w1 @ (w2.T + b2)[:, target] if matrix == "code" else w2[target] @ w1
                        )
                        expected = [
                            part.sum() for part in np.split(column * np.where(hidden > 0, 1, -1), 2)
                        ]
                        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_attention_of_the_head(model):
    for unit in ["word", "subword"]:
        with case(unit):
            tokens = model.tokens(models.instance(*PAIR))
            units = find_units(tokens, unit)
            order = np.argsort(-importance(model, tokens.ids, tokens.segments, 1))
            for place in (0, -1):
                own = encoder_states(model, tokens)[1][order[place]]
                single = ask(model, "attention_head", tokens, unit=unit, head_rank=place)
                np.testing.assert_allclose(
                    single.values, [own[0, list(g)].mean() for g in units.groups], atol=1e-9
                )
                pairs = ask(model, "attention_head_pairs", tokens, unit=unit, head_rank=place)
                for (a, b), score in zip(units.pairs().tolist(), pairs.values, strict=True):
                    both = [own[i, j] + own[j, i] for i in units.groups[a] for j in units.groups[b]]
                    np.testing.assert_allclose(score, np.mean(both) / 2, atol=1e-9)


def test_levels_of_a_technique_ask_once(tiny):
    """Pairs and spans find their answers in the ledger, spans and combined ones the same
    communities.
    """
    one = models.instance(*PAIR, name="p")
    budget = Budget(
        path_steps=4, path_steps_most=4, units=UnitSettings(unit="word", shapley_samples=40)
    )
    for methods in TECHNIQUES.values():
        (found,) = explain_instances(Scorer(tiny), [one], list(methods.values()), budget, ("x",))
        costs = [found.attributions[m].cost.unique for m in methods.values()]
        assert costs[0] > 0 and costs[2] == costs[3] == 0
        assert costs[1] == 0 or methods["token"] == "integrated_gradients"
        spans = found.attributions[methods["span"]]
        joined = found.attributions[methods["combined"]]
        for feature in joined.features:
            assert any(set(feature) <= set(whole) for whole in spans.features)


def test_models_without_heads_or_with_another_kind_of_head_say_so():
    with pytest.raises(ValueError, match="'tiny gru' has no attention heads"):
        Scorer(tiny_words("gru")).answer(
            [HeadImportance(np.zeros(1, int), np.zeros(1, int), 0)], ["x"]
        )
    with pytest.raises(ValueError, match=r"`transposed` or `code`.*got 'other'"):
        HeadImportance(np.zeros(1), np.zeros(1), 0, "other")
    with pytest.raises(
        ValueError, match="the classification head of Linear is not one of two linear layers"
    ):
        class_layers(torch.nn.Linear(2, 2))


def test_labels_in_another_order_ask_for_the_same_class(tiny):
    turned = Transformer(
        "t", tiny.network, tiny.tokenizer, ("yes", "no", "maybe"), 64, order=[2, 0, 1]
    )
    tokens = tiny.tokens(models.instance(*PAIR))
    for ours, theirs in enumerate([2, 0, 1]):
        pairs = [
            ask(m, "attention_head_pairs", tokens, target=k).values
            for m, k in ((turned, ours), (tiny, theirs))
        ]
        np.testing.assert_allclose(*pairs, atol=1e-12)


def test_one_part_left_after_truncation_has_no_pairs(tiny):
    """Where nothing of the second text is read, any two units of the first one pair: never a unit
    with itself.
    """
    tokens = tiny.tokens(models.instance("the film was good"))
    found = ask(tiny, "bivariate_shapley", tokens, unit="word")
    assert len(found.values) == 6 and all(len(set(f)) == 2 for f in found.features)
    single = ask(tiny, "bivariate_shapley", tiny.tokens(models.instance("good")))
    assert len(single.values) == 0 and single.features == ()


def test_masked_texts_are_those_of_the_reference(tiny):
    """Changes when units go, or only they stay, on ids."""
    tokens = tiny.tokens(models.instance(*PAIR))
    units = find_units(tokens, "word")
    sets = [set(), {0}, {1, 4}, set(range(len(units)))]
    (found,) = Scorer(tiny, precision="float64").converse([("x", ask_changes(tokens, units, sets))])
    for i, chosen in enumerate(sets):
        (flip, drop), (only, rest) = pieces.changes(
            tiny.at("float64"), tokens, units.groups, chosen, erasures.logits
        )
        assert (found.flips_without[i], found.flips_only[i]) == (flip, only)
        np.testing.assert_allclose(
            [found.drops_without[i], found.drops_only[i]], [drop, rest], atol=1e-12
        )
    assert found.flips_without[0] == 0 and found.flips_only[-1] == 0
