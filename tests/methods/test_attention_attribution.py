"""Attention of the head, attention attribution and the choice of the head against slow twins, BERT
and BART shaped.
"""

from itertools import product

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from reference import architectures as shapes
from reference import attending, case, erasures, models, pieces
from reference.pieces import check_pairs
from reference.words import tiny_words

from attreval.core.units import find_units
from attreval.methods import TECHNIQUES
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import LEAST, explain_instances
from attreval.metrics.unified.faithfulness import ask_changes
from attreval.models.questions import HeadImportance
from attreval.models.questions.inside import class_layers
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer

PAIR = ("the brave film", "not unbelievably bad")


@pytest.fixture(scope="module")
def shaped(tiny):
    """BERT and BART."""
    return (tiny, shapes.tiny_classifier("bart"))


def ask(model, name, tokens, target=1, **settings):
    """The Scores of one method."""
    return models.scores_of(model, name, tokens, target, Budget(units=UnitSettings(**settings)))


def importance(model, *asked):
    """(H,) how important the heads of a model are."""
    (found,) = Scorer(model, precision="float64").answer([HeadImportance(*asked)], ["x"])
    return found


def test_attribution_is_the_path_integral_layer_by_layer(tiny):
    tokens = tiny.tokens(models.instance(*PAIR))
    units = find_units(tokens, "subword")
    nodes, weights = np.polynomial.legendre.leggauss(3)
    coarse = {"attention_steps": 3, "attention_steps_most": 3}
    for rule, at, shares in (
        ("gauss", (nodes + 1) / 2, weights / 2),
        ("riemann", np.arange(3) / 3, np.full(3, 1 / 3)),
    ):
        matrix = attending.attribution(tiny.at("float64"), tokens, 1, at.tolist(), shares.tolist())
        for clip in (True, False):
            settings = {"attention_rule": rule, "attention_clip": clip}
            found = ask(tiny, "attention_attribution", tokens, **settings, **coarse)
            with case(rule, clip):
                expected = np.maximum(matrix, 0) if clip else matrix
                content = np.ix_(tokens.content, tokens.content)
                check_pairs(found, units, expected[content])


def test_attribution_is_complete(shaped, texts):
    """What a layer's links sum to is what its attention adds to the probability; few nodes are told
    by their gap.
    """
    until = {"attention_steps": 1, "attention_steps_most": 64, "attention_tolerance": 1e-6}
    for model in shaped:
        tokens = model.tokens(texts[1])
        for name in ("attention_attribution", "attention_attribution_spans"):
            gaps = []
            for n in (1, 100):
                steps = {"attention_steps": n, "attention_steps_most": n}
                gaps.append(abs(ask(model, name, tokens, **steps).gap))
            assert gaps[1] < 1e-10 and gaps[0] > 1e-5, (model.name, name)
        assert abs(ask(model, "attention_attribution", tokens, **until).gap) <= 1e-6


def test_the_gap_is_the_one_of_the_layer_that_misses_most(tiny):
    tokens = tiny.tokens(models.instance(*PAIR))
    once = {"attention_steps": 1, "attention_steps_most": 1}
    for target in range(3):
        found = ask(tiny, "attention_attribution", tokens, target, **once)
        gaps = []
        for layer in range(2):
            at = []
            for factor in (0.0, 0.5, 1.0):
                x = torch.tensor([factor], dtype=torch.float64, requires_grad=True)
                network = tiny.at("float64")
                p, _ = attending.scaled_probability(network, tokens, target, layer, x)
                at.append((p, torch.autograd.grad(p, x, retain_graph=True)[0]))
            owed = at[2][0] - at[0][0]
            gaps.append((at[1][1] - owed).item())
        assert found.gap == pytest.approx(max(gaps, key=abs), abs=1e-10)


def encoder_states(model, tokens):
    """(L, D) hidden states of the encoder by layer, and the (H, L, L) attention of its last one."""
    network = model.at("float64")
    network.set_attn_implementation("eager")
    given = {"input_ids": torch.from_numpy(tokens.ids[None])}
    encoder = network.base_model
    if network.config.is_encoder_decoder:
        encoder = network.model.encoder
    else:
        given["token_type_ids"] = torch.from_numpy(tokens.segments[None])
    with torch.no_grad():
        out = encoder(**given, output_hidden_states=True, output_attentions=True)
    return [h[0].numpy() for h in out.hidden_states], out.attentions[-1][0].numpy()


def classifier(network):
    """The two linear layers of the head as (weights, bias)."""
    if network.config.is_encoder_decoder:
        layers = (network.classification_head.dense, network.classification_head.out_proj)
    else:
        layers = (network.bert.pooler.dense, network.classifier)
    return [(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in layers]


def test_the_most_important_head(shaped, texts):
    asked = product(shaped, texts[2:4], ("transposed", "code"), ("after", "before"), range(3))
    for model, text, matrix, state, target in asked:
        (w1, _), (w2, b2) = classifier(model.at("float64"))
        tokens = model.tokens(text)
        with case(model.name, matrix, state, target):
            states, _ = encoder_states(model, tokens)
            hidden = states[-1 if state == "after" else -2][0]
            found = importance(model, tokens.ids, tokens.segments, target, matrix, state)
            column = w2[target] @ w1
            if matrix == "code":
                column = w1 @ (w2.T + b2)[:, target]
            expected = [part.sum() for part in np.split(column * np.where(hidden > 0, 1, -1), 2)]
            assert_allclose(found, expected, atol=1e-9)


def test_attention_of_the_head(shaped):
    for model, unit, place in product(shaped, ("word", "subword"), (0, -1)):
        tokens = model.tokens(models.instance(*PAIR))
        units = find_units(tokens, unit)
        order = np.argsort(-importance(model, tokens.ids, tokens.segments, 1))
        _, attention = encoder_states(model, tokens)
        own = attention[order[place]]
        how = {"unit": unit, "head_rank": place}
        with case(model.name, unit, place):
            single = ask(model, "attention_head", tokens, **how)
            expected = [own[0, list(group)].mean() for group in units.groups]
            assert_allclose(single.values, expected, atol=1e-9)
            between = np.array(
                [[own[np.ix_(a, b)].mean() for b in units.groups] for a in units.groups]
            )
            check_pairs(ask(model, "attention_head_pairs", tokens, **how), units, between)


def test_levels_of_a_technique_ask_once(tiny):
    """Pairs and spans find their answers in the ledger, spans and combined ones the same
    communities.
    """
    one = models.instance(*PAIR, name="p")
    budget = LEAST.changed(units=UnitSettings(unit="word", shapley_samples=40))
    for methods in TECHNIQUES.values():
        (found,) = explain_instances(Scorer(tiny), [one], list(methods.values()), budget, ("x",))
        costs = {kind: found.attributions[m].cost.unique for kind, m in methods.items()}
        assert costs["token"] > 0 and costs["span"] == costs["combined"] == 0
        assert costs["pair"] == 0 or methods["token"] == "integrated_gradients"
        spans = [set(feature) for feature in found.attributions[methods["span"]].features]
        for feature in found.attributions[methods["combined"]].features:
            assert any(set(feature) <= whole for whole in spans)


def test_models_without_heads_or_with_another_kind_of_head_say_so():
    with pytest.raises(ValueError, match="'tiny gru' has no attention heads"):
        importance(tiny_words("gru"), np.zeros(1, int), np.zeros(1, int), 0)
    with pytest.raises(ValueError, match="head of Linear is not one of two linear layers"):
        class_layers(torch.nn.Linear(2, 2))


def test_labels_in_another_order_ask_for_the_same_class(tiny):
    order = [2, 0, 1]
    labels = ("yes", "no", "maybe")
    turned = Transformer("t", tiny.network, tiny.tokenizer, labels, 64, order=order)
    tokens = tiny.tokens(models.instance(*PAIR))
    for ours, theirs in enumerate(order):
        found = ask(turned, "attention_head_pairs", tokens, ours).values
        expected = ask(tiny, "attention_head_pairs", tokens, theirs).values
        assert_allclose(found, expected, atol=1e-12)


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
    network = tiny.at("float64")
    for i, chosen in enumerate(sets):
        without, only = pieces.changes(network, tokens, units.groups, chosen, erasures.logits)
        assert (found.flips_without[i], found.flips_only[i]) == (without[0], only[0])
        drops = [found.drops_without[i], found.drops_only[i]]
        assert_allclose(drops, [without[1], only[1]], atol=1e-12)
    assert found.flips_without[0] == 0 and found.flips_only[-1] == 0
