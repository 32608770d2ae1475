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
    table = read("08_joint_decomposition", reading="all")
    return table[table.kind != "one of each"], table[table.kind == "one of each"]


def test_within_a_family_the_judge_matters_and_the_model_hardly_does(components):
    family, _ = components
    assert (family.judge > 3 * family.model.clip(lower=0.01)).all() and (family.model < 0.1).all()
    assert (family.lead_low > 0).all() and (family.p_judge < 0.05).all()


def test_between_families_it_is_the_other_way_round(components):
    family, families = components
    assert len(families) and (families.lead_high < 0).all() and (families.p_model < 0.05).all()
    assert families.methods.max() < family.methods.mean()  # "falls from"


def test_orders_of_two_judges_resemble_each_other_weakly():
    pooled = read("08_joint_correlations_pooled", granularity="tokens")
    between, within = (pooled.tau[pooled.between == value].mean() for value in (True, False))
    assert 0 < between < 0.5 < within
