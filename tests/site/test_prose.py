"""Words of the paper that no number fills: a run that contradicts them fails."""

import re

import nbformat
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium import project
from compendium.papers.common.coloured_text import KEY
from compendium.papers.kamp2023.figures import figure_all_pairs

TABLES = project.home() / "results/reference/full/tables"


def read(name, **where):
    table = pd.read_csv(TABLES / f"{name}.csv")
    for column, value in where.items():
        table = table[table[column] == value]
    return table


@pytest.fixture(scope="module")
def components():
    table = read("08_joint_crossed_decomposition", reading="all")
    kinds = (
        "one network, trained anew",
        "transformers",
        "recurrent and convolutional networks",
        "one of each",
    )
    return [table[table.kind == kind] for kind in kinds]


def test_retraining_hardly_moves_an_order(components):
    anew, *_ = components
    assert anew.model.max() < 0.06 and anew.model_high.max() < 0.12 and len(anew) == 4


def test_among_recurrent_and_convolutional_networks_the_methods_decide(components):
    *_, words, _ = components
    assert (words.methods > 0.5).all() and (
        words.methods > 3 * words[["judge", "model"]].max(axis=1)
    ).all()
    assert words.needed.nunique() == 2  # "the mean of ... to ... columns"


def test_among_transformers_the_judge_matters_about_as_much_as_the_methods(components):
    _, transformers, _, _ = components
    assert ((transformers.judge / transformers.methods).between(3 / 4, 4 / 3)).all()
    assert (transformers.judge > 3 * transformers.model).all() and (
        transformers.p_judge < 0.05
    ).all()
    assert len(transformers) == 4 and (transformers.lead > 0).all()


def test_from_one_family_to_the_other_the_model_decides(components):
    *_, families = components
    assert (families.model > 2 * families.judge).all() and (families.model > 0.5).all()
    assert families.methods.max() < 0.1 and (families.methods_low < 0).all()  # "about nothing"
    assert (families.needed > 200).all()  # "hundreds of columns, or no number"
    assert families.same_metric.max() < 0.4  # "only"


def test_few_statements_about_methods_hold_for_both_families():
    alike = read("08_joint_crossed_pairs", everywhere=True).family.value_counts()
    assert (
        alike.get("all", 0)
        < 0.02 * 231
        < alike["transformers"]
        < alike["recurrent and convolutional networks"]
    )


def test_some_pairs_of_methods_are_ordered_one_way_by_one_family_and_the_other_way_by_the_other():
    opposed = read("08_joint_crossed_pairs", family="all", **{"opposed": True})
    alike = read("08_joint_crossed_pairs", family="all", **{"everywhere": True})
    assert len(opposed) > len(alike)


def test_one_network_is_often_enough_under_one_metric():
    needs = read("08_joint_crossed_needs")
    needs = needs[needs.metric != "simplicity"]
    assert (needs.texts_needed < 1000).mean() > 0.6
    # "mostly no number is"
    assert needs.texts_needed[needs.texts_needed >= 1000].eq(float("inf")).mean() > 0.5
    assert (needs.models_needed < 20).sum() == len(needs) - 1  # "more models help in all but one"


def test_orders_of_two_judges_resemble_each_other_weakly():
    pooled = read("08_joint_correlations_pooled", granularity="tokens")
    between, within = (pooled.tau[pooled.between == value].mean() for value in (True, False))
    assert 0 < between < 0.5 < within


def words_of(stem):
    """What a notebook says between its cells, as it is and as it is committed."""
    copies = sorted((project.home() / "results/reference").glob(f"*/notebooks/{stem}.ipynb"))
    assert len(copies) == 2
    for path in (project.home() / "notebooks" / f"{stem}.ipynb", *copies):
        cells = nbformat.read(path, as_version=4).cells
        yield "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def section(name):
    return (project.home() / "paper/sections" / f"{name}.qmd").read_text(encoding="utf-8")


def test_colours_that_are_named_are_those_of_the_words():
    assert KEY.startswith("blue: for the explained class; orange: against it")
    for text in (section("poerner2018"), *words_of("04_poerner2018")):
        assert re.search(r"Blue \w+ for [^.]*,\s+orange against it", text)
        assert not re.search(r"\b(green|red|hollow)\b", text, re.IGNORECASE)


def test_a_line_of_agreement_is_a_kind_of_pair_and_no_caption_names_a_task_that_may_not_be_drawn():
    kinds = {
        ("a", "b"): "both gradient",
        ("c", "d"): "both perturbation",
        ("c", "e"): "both perturbation",
    }
    rows = [("snli", *pair, kind, k, 0.6) for pair, kind in kinds.items() for k in (1, 2)]
    columns = ["task", "method_a", "method_b", "group", "k", "agreement"]
    drawn = figure_all_pairs(pd.DataFrame(rows, columns=columns))
    assert sum(line.get_marker() != "None" for line in drawn.get_lines()) == 2
    plt.close(drawn.get_figure())
    caption = section("kamp2023").partition("#agreement-curves >}}")[2].partition(":::")[0]
    assert not re.search("SNLI|Rotten", caption)
    for text in (caption, *words_of("05_kamp2023")):
        assert re.search(r"line is the mean over a kind\sof pair", text) and "hin line" not in text


def test_what_short_lines_and_large_marks_stand_for_is_said():
    """No random explanation is drawn under simulatability; equal shares have no line."""
    for text in (section("sun2024"), *words_of("07_sun2024")):
        assert re.search(r"under simulatability the agent that sees\snone", text)
    assert "by construction where there is no line" in section("zhao2023")
