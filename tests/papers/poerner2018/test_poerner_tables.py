"""Table 2 of Poerner et al. (2018) beside ours, cell by cell, and the figures of it."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from compendium.corpora import TASKS
from compendium.papers.poerner2018 import figures, tables
from compendium.papers.poerner2018.accuracy import accuracy_by_attractors


def summary_of(cells):
    """A summary with one row a (task, model, metric, condition, method, accuracy)."""
    table = pd.DataFrame(
        cells, columns=["task", "model", "metric", "condition", "method", "accuracy"]
    )
    table = table.assign(
        architecture=table.model.str.upper(), instances=10, right=0.9, discarded=0.0
    )
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


def test_our_cells_stand_beside_the_published_and_gaps_say_why():
    ours = tables.NAMES["grad_1p_dot"]
    cells = [
        ("hybrid_imdb", m, "hybrid", "all", ours, v) for m, v in (("lstm", 0.8), ("minilm", 0.7))
    ]
    cells += [
        ("hybrid_imdb", "lstm", "hybrid", "all", name, v)
        for name, v in (("lrp", 0.76), ("random", 0.99))
    ]
    cells += [("agreement_parsed", "gru", "hit_feat", "all", "lrp", 0.5)]
    table = tables.table_2(summary_of(cells))
    at = table.set_index(
        ["method", "architecture", "experiment", "metric", "condition"]
    ).sort_index()
    (one,) = at.loc["grad_1p_dot", "LSTM", "yelp hybrid"].to_dict("records")
    assert (one["ours"], one["published"], one["column"], one["task"]) == (
        0.8,
        0.84,
        "C03",
        "hybrid_imdb",
    )
    assert one["best"] and one["near"] and one["reason"] == ""
    (lrp,) = at.loc["lrp", "LSTM", "yelp hybrid"].to_dict("records")
    assert lrp["near"] and not lrp["best"]
    (random,) = at.loc["random", "LSTM", "yelp hybrid"].to_dict("records")
    assert not random["best"] and not random["near"], "a baseline competes with nobody"
    (new,) = at.loc["grad_1p_dot", "MINILM", "yelp hybrid"].to_dict("records")
    assert new["column"] == "" and np.isnan(new["published"]) and new["ours"] == 0.7

    agreement = ("lrp", "GRU", "morphosyntactic agreement", "hit_feat", "wrong")
    for key, reason in {
        (
            "decomp",
            "MINILM",
            "yelp hybrid",
        ): "not applicable: it has no rule for transformer models",
        ("decomp", "CNN", "yelp hybrid"): "not applicable: a convolution",
        ("last", "GRU", "yelp hybrid"): "not applicable: only agreement",
        ("lrp", "GRU", "20newsgroups manual"): "not run: no task of this experiment",
        ("lrp", "GRU", "yelp hybrid"): "not run: this architecture is not in this profile",
        ("decomp", "LSTM", "yelp hybrid"): "not run: this method is not in this profile",
        agreement: "no instance: the model made no wrong prediction",
    }.items():
        assert np.ravel(at.loc[key].reason)[0].startswith(reason), key
    assert (table.ours.notna() == (table.reason == "")).all()
    assert table[table.column != ""].groupby("column").size().eq(22).all()
    block = tables.block_to_read(table, "yelp hybrid", "hybrid_imdb", "hybrid").set_index("method")
    assert list(block) == ["LSTM", "MINILM"], "only architectures of ours"
    title = METHODS[ours].title
    assert block.loc[title, "LSTM"] == "0.80* (0.84)" and block.loc[title, "MINILM"] == "0.70*"
    assert block.loc["LRP", "LSTM"] == f"0.76 ({lrp['published']:.2f}?)"
    assert block.loc["Cell decomposition", "LSTM"] == "" and block.loc["Random", "LSTM"].startswith(
        "0.99 ("
    )


def test_the_figure_shows_each_value_of_ours_bold_where_a_sure_published_one_is_far():
    cells = [
        ("hybrid_imdb", "gru", "hybrid", "all", name, v)
        for name, v in (("lrp", 0.8), ("limsse_class", 0.7))
    ]
    cells += [("agreement_parsed", "gru", "hit_feat", "correct", "lrp", 0.6)]
    table = tables.table_2(summary_of(cells))
    figure = figures.draw_table_2(table).get_figure()
    titles = [
        "IMDB,\nhybrid\nright fragment",
        "Agreement,\nparsed,\nright predictions\npredicted number",
    ]
    assert [axes.get_title() for axes in figure.axes] == titles
    assert [text.get_text() for text in figure.axes[0].texts] == ["80", "70"]
    plt.close(figure)
    far = figures.draw_table_2(table.assign(published=table.ours - 0.2, confidence="H"))
    assert {text.get_weight() for text in far.texts} == {"bold"}
    for near in (
        table.assign(published=table.ours - 0.1, confidence="H"),
        table.assign(published=0.0, confidence="L"),
    ):
        assert {text.get_weight() for text in figures.draw_table_2(near).texts} == {"normal"}
    plt.close("all")
    (words,) = figures.draw_table_2(
        table.assign(ours=np.nan)
    ).texts  # texts of one's own are in no cell of it
    assert "no task or method of the paper's Table 2" in words.get_text()


def test_attractor_curves_have_a_line_a_method_and_the_models_own():
    rows = [
        {"instance": f"{at}-{number}", "attractors": at, "hit": float(at == 0), "method": method}
        for at, numbers in ((0, 6), (1, 5), (2, 4))
        for number in range(numbers)
        for method in ("lrp", "decomposition", "lime")
    ]
    frame = pd.DataFrame(rows).assign(
        task="agreement_parsed", model="gru", architecture="GRU", metric="hit_target"
    )
    summary = accuracy_by_attractors(frame.assign(discarded="", seed=1, correct=True), 50, 0.9)
    axes = figures.draw_attractors(summary)
    assert [line.get_label() for line in axes.lines] == [
        "LRP",
        "Cell decomposition",
        "model's predictions",
    ]
    assert axes.get_title() == "GRU"
    assert [list(line.get_xdata()) for line in axes.lines] == [[0, 1]] * 3, (
        "two attractors have too few texts"
    )
    plt.close(axes.get_figure())
    axes = figures.draw_attractors(summary.assign(metric="hybrid"))
    assert axes.texts[0].get_text() == "no agreement sentences in this run" and not axes.lines
    plt.close(axes.get_figure())
