"""Counting what a run will ask: the same requests, duplicates and tokens as the ledger of the run itself books."""

from collections import Counter

import numpy as np
import pytest
from reference import models, words

from attreval.methods import methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain
from attreval.models.scorer import Scorer, cut_batches
from compendium.planning.counting import CountingLedger, UnbuiltModel, bucket, fixed, quantiles, split_words

BUDGET = fixed(
    Budget(
        path_steps=3,
        lime_samples=40,
        shap_evaluations=30,
        riemann_steps=3,
        limsse_epochs=2,
        units=UnitSettings(unit="word", shapley_samples=60, attention_steps=2),
    )
)
TEXTS = [
    ("the film was not very good , it was slow .", "the plot was bad and the film was bad"),
    ("good", "not good at all ."),
    ("a very slow plot , a very bad film , and very little else to see", "the film was not good"),
]


def unbuilt(model):
    """The same model without its network."""
    return UnbuiltModel(
        *(model.name, model.family, model.labels, model.max_length, model.tokens),
        layers=getattr(model, "layers", 0),
        heads=model.network.config.num_attention_heads if model.family == "transformer" else 0,
        reuse_from=getattr(model, "reuse_from", float("inf")),
        pad_id=model.pad_id,
    )


def pairs():
    return [models.instance(*text) for text in TEXTS]


@pytest.mark.parametrize("kind", ["tiny", "lstm", "qgru", "cnn"])
def test_what_is_counted_is_what_is_booked(tiny, kind):
    model = tiny if kind == "tiny" else words.tiny_words(kind)
    # which coalitions Partition SHAP asks for, and so which of them are known, the answers decide
    names = [name for name in methods_for(model.family) if name != "partition_shap"]
    for instance in pairs():
        (real,) = explain(Scorer(model), [instance], names, BUDGET, ("t",))
        ledger = CountingLedger(unbuilt(model))
        (counted,) = explain(ledger, [instance], names, BUDGET, ("t",))
        for name in names:
            assert counted.attributions[name].cost == real.attributions[name].cost, name
        # what is computed: what is booked as unique, and the prediction
        costs = [a.cost for a in counted.attributions.values()]
        assert ledger.evaluations == 1 + sum(cost.unique for cost in costs)
        if kind == "tiny":  # where no window is answered without rows
            assert ledger.tokens == len(counted.tokens) + sum(cost.unique_tokens for cost in costs)


def test_partition_shap_asks_for_as_many_coalitions_whatever_it_hears(tiny):
    for instance in pairs():
        (real,) = explain(Scorer(tiny), [instance], ["partition_shap"], BUDGET, ("t",))
        (counted,) = explain(CountingLedger(unbuilt(tiny)), [instance], ["partition_shap"], BUDGET, ("t",))
        costs = [e.attributions["partition_shap"].cost for e in (real, counted)]
        assert costs[0].requested == costs[1].requested > 2 or len(real.tokens.content) == 1


@pytest.mark.parametrize(
    ("first", "most", "nodes"), [(4, 64, 24), (50, 50, 50), (8, 16, 16), (32, 512, 32), (9, 17, 9)]
)
def test_a_path_that_may_grow_is_given_the_nodes_that_paths_need(first, most, nodes):
    budget = fixed(Budget(path_steps=first, path_steps_most=most))
    assert (budget.path_steps, budget.path_steps_most) == (nodes, nodes)


def test_rows_of_several_texts_are_padded_as_the_ledger_pads_them(tiny):
    ledger = CountingLedger(unbuilt(tiny))
    found = explain(ledger, pairs(), ["gradient_l2"], BUDGET, ("t",), group=3)
    lengths = sorted((len(e.tokens) for e in found), reverse=True)
    padded = Counter()
    for batch in cut_batches(lengths, ledger.token_budget, **ledger.batch_costs):
        padded[bucket(lengths[batch.start])] += len(batch) * lengths[batch.start]
    assert ledger.passes == {(what, n): c for n, c in padded.items() for what in ("forward float32", "gradient")}
    assert ledger.tokens == 2 * sum(len(e.tokens) for e in found) and (ledger.evaluations, ledger.gradients) == (6, 3)


def test_lengths_share_a_bucket_by_ratio():
    assert [bucket(n) for n in (0, 1, 3, 5, 6, 23, 44, 46, 500)] == [1, 1, 4, 4, 8, 32, 32, 64, 512]


def test_texts_of_middling_length_stand_for_all():
    assert quantiles([9, 1, 5, 3, 7], 1) == [2] and sorted(quantiles(list(range(12)), 3)) == [2, 6, 10]
    assert quantiles([4, 2], 5) == [1, 0]


@pytest.mark.parametrize("special", [False, True])
def test_words_stand_for_tokens(special):
    instance = models.instance("an extraordinarily slow film", "slow film")
    tokens = split_words(64, special)(instance)
    assert len(tokens) == (6 + 1 + 3 if special else 6)
    assert tokens.special.sum() == 3 * special and len(tokens.content) == 6 + special
    first, second = (tokens.ids[np.array(tokens.texts) == "slow"], tokens.ids[np.array(tokens.texts) == "film"])
    assert len(set(first)) == len(set(second)) == 1 and set(first) != set(second)
    for t in tokens.content:  # each piece is what stands at its place
        side, start, end = tokens.offsets[t]
        assert instance.segments[side][start:end] == tokens.texts[t]
    assert len(split_words(5, special)(instance)) == 5
    other = split_words(64, special)(models.instance("a film", "slow"))  # a word is one id in every text
    assert other.ids[np.array(other.texts) == "film"] == second[0]
