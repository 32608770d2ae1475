"""Words of the paper that no number fills: a run that contradicts them fails, and the text is written anew."""

import pandas as pd
import pytest

from compendium import project

TABLES = project.home() / "results/reference/full/tables"


def read(name, **where):
    table = pd.read_csv(TABLES / f"{name}.csv")
    for column, value in where.items():
        table = table[table[column] == value]
    return table


@pytest.fixture(scope="module")
def components():
    table = read("08_joint_crossed_decomposition", reading="all")
    kinds = ("one network, trained anew", "transformers", "recurrent and convolutional networks", "one of each")
    return [table[table.kind == kind] for kind in kinds]


def test_training_anew_hardly_moves_an_order(components):
    anew, *_ = components
    assert anew.model.max() < 0.06 and anew.model_high.max() < 0.12


def test_among_transformers_the_judge_decides(components):
    _, transformers, _, _ = components
    assert (transformers.judge > transformers.methods).all() and (transformers.judge > 4 * transformers.model).all()
    assert (transformers.lead_low > 0).all() and (transformers.p_judge < 0.05).all() and len(transformers) == 4


def test_among_recurrent_and_convolutional_networks_the_methods_decide(components):
    *_, words, _ = components
    assert (words.methods > 0.5).all() and (words.methods > 3 * words[["judge", "model"]].max(axis=1)).all()
    assert (words.needed < 2).all()  # "one judge on one or two networks is enough"


def test_from_one_family_to_the_other_the_model_matters_most(components):
    _, transformers, _, families = components
    assert (families.model > families.judge).all() and (families.p_model < 0.05).all()
    assert (families.lead_high < 0.1).all() and (families.lead_high < 0).sum() >= 2
    assert families.needed.min() > transformers.needed.min()


def test_few_statements_about_methods_survive_both_changes():
    alike = read("08_joint_crossed_pairs", everywhere=True).family.value_counts()
    assert alike.get("all", 0) <= 2 and alike["transformers"] < 10 < alike["recurrent and convolutional networks"]


def test_orders_of_two_judges_resemble_each_other_weakly():
    pooled = read("08_joint_correlations_pooled", granularity="tokens")
    between, within = (pooled.tau[pooled.between == value].mean() for value in (True, False))
    assert 0 < between < 0.5 < within
