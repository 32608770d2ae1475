"""Orders that other networks foretell."""

import numpy as np
import pandas as pd
import pytest
from papers.joint.test_flips import PROFILE, table_of_networks

from compendium.papers.joint import foretell

METHODS = ("lrp", "gradient_l2", "occlusion_1", "lime", "deeplift")
UP = (1, 2, 3, 4, 5)
DOWN = UP[::-1]


def foretold(orders):
    rows = []
    for (model, seed), places in orders.items():
        for text in range(4):
            for method, place in zip(METHODS, places, strict=True):
                rows.append(("sst2", model, seed, f"x{text}", method, "nc", place))
    scores, tested = table_of_networks(rows)
    table = foretell.foretold_table(scores, tested, PROFILE)
    return table.set_index(["family", "foreteller"])


def test_a_family_foretells_what_the_others_do_not():
    words = {("gru", 1): UP, ("gru", 2): UP, ("qgru", 1): UP, ("cnn", 1): UP}
    table = foretold(words | {("minilm", 1): DOWN, ("smollm2", 1): DOWN})
    own = table.loc["transformers"]
    assert own.tau[foretell.ITSELF] == own.tau[foretell.FAMILY] == 1
    assert own.regret[foretell.FAMILY] == 0
    # six others, five of them in the other order
    assert (own.tau[foretell.OTHERS], own.regret[foretell.OTHERS]) == (-1, 1)
    assert own.regret[foretell.CHANCE] == pytest.approx(0.5)
    assert own.regret[foretell.OCCLUSION] == pytest.approx(0.5)
    assert (own.models == 2).all()
    assert foretell.ELSEWHERE not in table.index.get_level_values("foreteller")
    # each model counts once, whatever its seeds
    assert (table.loc["recurrent and convolutional networks"].models == 3).all()
    assert foretell.say_foretold(table.reset_index()).startswith("Rank correlation with a network")


def test_a_model_without_kin_is_foretold_by_the_others_alone():
    table = foretold({("gru", 1): UP, ("minilm", 1): DOWN})
    assert foretell.FAMILY not in table.index.get_level_values("foreteller")
    assert table.loc["transformers"].tau[foretell.OTHERS] == -1


def test_other_texts_foretell():
    """The two halves of the texts have opposite orders: a network does not foretell itself."""
    rows = []
    for text in range(6):
        for method, place in zip(METHODS, UP if text % 2 else DOWN, strict=True):
            rows.append(("sst2", "gru", 1, f"x{text}", method, "nc", place))
    scores, tested = table_of_networks(rows)
    table = foretell.foretold_table(scores, tested, PROFILE).set_index("foreteller")
    assert table.tau[foretell.ITSELF] == -1 and np.isclose(table.regret[foretell.ITSELF], 1)


def test_nothing_to_foretell():
    assert foretell.foretold_table(*table_of_networks([]), PROFILE).empty
    assert "no rows" in foretell.say_foretold(pd.DataFrame(columns=["foreteller", "tau", "regret"]))
