"""Table 2 of Poerner et al. (2018) beside ours, cell by cell, and the figures of it."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from compendium.corpora import TASKS
from compendium.papers.poerner2018 import figures, tables


def summary_of(*cells):
    """A summary with one row a (task, model, game, method, accuracy)."""
    table = pd.DataFrame(cells, columns=["task", "model", "metric", "method", "accuracy"])
    about = {"condition": "all", "instances": 10, "right": 0.9, "discarded": 0.0}
    table = table.assign(architecture=table.model.str.upper(), **about)
    return table.assign(low=table.accuracy - 0.1, high=table.accuracy + 0.1)


def test_the_published_cells_are_read_with_their_columns():
    cells = tables.published_table_2().set_index(["method", "column"])
    assert len(cells) == 22 * 27
    about = ["published", "confidence", "architecture", "metric", "condition"]
    assert cells.loc[("grad_1p_dot", "C05"), about].tolist() == [0.95, "H", "CNN", "hybrid", "all"]
    assert cells.loc["last", "C20"][["metric", "condition"]].tolist() == ["hit_feat", "correct"]
    assert cells.loc["last", "C24"][["metric", "condition"]].tolist() == ["hit_feat", "wrong"]
    assert cells.loc["random", "C16"][["metric", "condition"]].tolist() == ["hit_target", "correct"]
    assert (cells.published.notna() == (cells.confidence != "")).all()
    assert set(cells.experiment) == set(tables.TASKS_OF)
    assert {*tables.NAMES, *tables.BASELINES} == set(cells.reset_index().method)
    assert set(tables.NAMES.values()) <= set(METHODS)
    assert {name for names in tables.TASKS_OF.values() for name in names} <= set(TASKS)


MISSING = {  # method, architecture, experiment and more: why there is nothing of ours
    ("decomp", "MINILM", "yelp hybrid"): "not applicable: it has no rule for transformer models",
    ("decomp", "CNN", "yelp hybrid"): "not applicable: a convolution",
    ("last", "GRU", "yelp hybrid"): "not applicable: only agreement",
    ("lrp", "GRU", "20newsgroups manual"): "not run: no task of this experiment",
    ("lrp", "GRU", "yelp hybrid"): "not run: this architecture is not in this profile",
    ("decomp", "LSTM", "yelp hybrid"): "not run: this method is not in this profile",
    ("lrp", "GRU", "morphosyntactic agreement", "hit_feat", "wrong"): "no instance: the model",
}


def test_our_cells_stand_beside_the_published_and_gaps_say_why():
    ours = tables.NAMES["grad_1p_dot"]
    rows = [("lstm", ours, 0.8), ("minilm", ours, 0.7), ("lstm", "lrp", 0.76)]
    rows.append(("lstm", "random", 0.99))
    imdb = [("hybrid_imdb", model, "hybrid", *row) for model, *row in rows]
    table = tables.table_2(summary_of(*imdb, ("agreement_parsed", "gru", "hit_feat", "lrp", 0.5)))
    keys = ["method", "architecture", "experiment", "metric", "condition"]
    at = table.set_index(keys).sort_index()

    def of_yelp(method, architecture="LSTM"):
        return at.loc[method, architecture, "yelp hybrid"].iloc[0]

    one = of_yelp("grad_1p_dot")
    about = ["ours", "published", "column", "task", "best", "near", "reason"]
    assert one[about].tolist() == [0.8, 0.84, "C03", "hybrid_imdb", True, True, ""]
    assert of_yelp("lrp")[["best", "near"]].tolist() == [False, True]
    competes = of_yelp("random")[["best", "near"]]
    assert not competes.any(), "a baseline competes with nobody"
    new = of_yelp("grad_1p_dot", "MINILM")
    assert new.column == "" and np.isnan(new.published) and new.ours == 0.7
    for key, reason in MISSING.items():
        assert np.ravel(at.loc[key].reason)[0].startswith(reason), key
    assert (table.ours.notna() == (table.reason == "")).all()
    assert table[table.column != ""].groupby("column").size().eq(22).all()
    asked = tables.BLOCKS["sentiment"]
    block = tables.block_to_read(table, "yelp hybrid", "hybrid_imdb", asked).set_index("method")
    assert list(block) == ["LSTM", "MINILM"], "only architectures of ours"
    assert block.loc[METHODS[ours].title].tolist() == ["0.80* (0.84)", "0.70*"]
    assert block.LSTM["LRP"] == f"0.76 ({of_yelp('lrp').published:.2f}?)"
    assert block.LSTM["Cell decomposition"] == "" and block.LSTM["Random"].startswith("0.99 (")


def drawn(table):
    """The axes and the texts of the first panel of Table 2's figure, which is closed."""
    axes = figures.draw_table_2(table)
    plt.close(axes.figure)
    return axes.figure.axes, axes.texts


def test_the_figure_shows_each_value_of_ours_bold_where_a_sure_published_one_is_far():
    cells = [
        ("hybrid_imdb", "gru", "hybrid", *one) for one in (("lrp", 0.8), ("limsse_class", 0.7))
    ]
    summary = summary_of(*cells, ("agreement_parsed", "gru", "hit_feat", "lrp", 0.6))
    agreement = summary.task == "agreement_parsed"
    table = tables.table_2(summary.assign(condition=np.where(agreement, "correct", "all")))
    panels, texts = drawn(table)
    assert [axes.get_title() for axes in panels] == [
        "IMDB,\nhybrid\nright fragment",
        "Agreement,\nparsed,\nright predictions\npredicted number",
    ]
    assert [text.get_text() for text in texts] == ["80", "70"]
    for published, sure, weight in ((0.2, "H", "bold"), (0.1, "H", "normal"), (1, "L", "normal")):
        beside = table.assign(published=table.ours - published, confidence=sure)
        assert {text.get_weight() for text in drawn(beside)[1]} == {weight}
    (words,) = drawn(table.assign(ours=np.nan))[1]  # texts of one's own are in no cell of it
    assert "no task or method of the paper's Table 2" in words.get_text()


def test_attractor_curves_have_a_line_a_method_and_the_models_own():
    points = pd.DataFrame(
        {"attractors": [0, 1, 2], "instances": [60, 20, 19], "accuracy": [1, 0, 0]}
    )
    points = points.assign(low=0, high=1, right=0.9, metric="hit_target", model="gru")
    points["architecture"] = "GRU"
    methods = ("lrp", "decomposition", "lime")
    parts = [points.assign(method=m, condition=c) for m in methods for c in ("correct", "all")]
    table = pd.concat(parts, ignore_index=True)
    axes = figures.draw_attractors(table)
    plt.close(axes.figure)
    labels = [line.get_label() for line in axes.lines]
    assert labels == ["LRP", "Cell decomposition", "model's predictions"]
    assert axes.get_title() == "GRU"
    few = "two attractors have too few texts"
    assert [list(line.get_xdata()) for line in axes.lines] == [[0, 1]] * 3, few
    axes = figures.draw_attractors(table.assign(metric="hybrid"))
    plt.close(axes.figure)
    assert axes.texts[0].get_text() == "no agreement sentences in this run" and not axes.lines
