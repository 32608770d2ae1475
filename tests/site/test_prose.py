"""Words of the paper that no number fills: a run that contradicts them fails."""

import re

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib import pyplot as plt

from compendium import project
from compendium.papers.common.coloured_text import KEY
from compendium.papers.kamp2023.figures import figure_all_pairs
from compendium.site.declarations import DeclaredNumber, read_declared
from compendium.site.tables import csv_files, read_numbers

CONTROLS = "controls"


def read(name, run="full", **where):
    table = pd.read_csv(project.home() / f"results/reference/{run}/tables/{name}.csv")
    for column, value in where.items():
        table = table[table[column] == value]
    return table


BORDER = ["one of each", "two transformers, one from scratch"]
FAMILIES = ["recurrent and convolutional networks", "transformers", "transformers from scratch"]
SCRATCH = "one of each, from scratch"


@pytest.fixture(scope="module")
def components():
    """By reading the shares of each task and kind of two networks."""
    table = read("08_joint_crossed_decomposition", CONTROLS)
    return {name: part.set_index("kind") for name, part in table.groupby("reading")}


def test_across_the_border_of_pretraining_the_model_decides_and_nowhere_else(components):
    shares = components["all"]
    border = shares.loc[BORDER]
    assert (border.model_cut > 0.5).all() and (border.model_cut > border.judge_cut).all()
    elsewhere = shares.loc[[*FAMILIES, SCRATCH]]
    assert (elsewhere.model_cut < 0.12).all() and (elsewhere.judge_cut > 0.25).all()


def test_three_methods_make_most_of_it(components):
    whole, without = (components[name].loc[BORDER] for name in ("all", "no one step"))
    sst2 = without[without.task == "sst2"]
    assert (sst2.model_cut < 0.1).all() and (sst2.lead_low > 0.3).all()
    assert (without.model_cut < whole.model_cut).all()
    whole, without = (part.loc["one of each"].same_metric for part in (whole, without))
    assert (without > whole + 0.2).all() and without.min() > 0.5  # "carry over"


def test_sst2_decides_and_agreement_points_the_same_way(components):
    lead = components["all"].loc["one of each"].set_index("task")
    assert lead.lead_high["sst2"] < 0 < lead.lead_high["agreement_parsed"]
    assert lead.lead["agreement_parsed"] < 0


def test_other_readings_change_little(components):
    for reading in ("merged", "one rule", "right"):
        border = components[reading].loc["one of each"]
        assert np.all(border.model_cut > 0.5) and np.all(border.lead < 0)
    alike = read("08_joint_crossed_alike", CONTROLS, same=True)
    assert alike[["first", "second"]].to_numpy().tolist() == [["gradient_l1", "gradient_l2"]]


def test_word_pieces_vectors_and_erasing_turn_no_pair():
    turned = read("08_joint_crossed_turned", CONTROLS)
    held = turned[(turned.retrained < 0.25) & turned.moved.isin(["tokens", "vectors", "erasing"])]
    assert len(held) and (held.turned <= 0.5).all()


def test_what_comes_first_elsewhere_is_no_better_a_choice_than_occlusion():
    foretold = read("08_joint_crossed_foretold", CONTROLS, family="transformers")
    regret = foretold.pivot(index="task", columns="foreteller", values="regret")
    family = regret["other models of its family"]
    assert (family > regret["occlusion before all else"]).all() and (family < regret.chance).all()


def test_norms_and_one_step_gradients_change_places():
    places = read("08_joint_crossed_places", CONTROLS, judge="all judges")
    of_kind = places.groupby(["kind", "method"]).place.mean()
    recurrent, encoder = of_kind["recurrent"], of_kind["pretrained encoder"]
    scratch = of_kind["transformer, not pretrained"]
    assert recurrent.deeplift > 0.8 > 0.6 > scratch.deeplift > 0.4 > 0.2 > encoder.deeplift
    assert recurrent.gradient_l2 < 0.2 < scratch.gradient_l2 < 0.4 < 0.6 < encoder.gradient_l2
    occlusion = pd.concat([recurrent, scratch, encoder]).occlusion_1
    assert (occlusion > 0.75).all()  # "near the top"


def test_one_network_is_often_enough_under_one_metric():
    needs = read("08_joint_crossed_needs")
    needs = needs[needs.metric != "simplicity"]
    assert (needs.texts_needed < 1000).mean() > 0.6


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


def test_the_abstract_says_right_that_more_conclusions_are_undecided_than_contradicted():
    claims = pd.read_json(project.home() / "results/reference/full/claims.json")
    verdicts = claims[claims.kind == "conclusion"].verdict.value_counts()
    assert verdicts["inconclusive"] > verdicts["contradicted"] > 0


def test_the_landing_page_says_what_its_bars_say():
    places = read("08_joint_crossed_places", CONTROLS, judge="all judges")
    by_kind = places.pivot_table(index="method", columns="kind", values="place")
    fallen = ["gradient_x_input", "gradient_simple_probability_dot", "deeplift"]
    for kind in ("recurrent", "convolutional"):
        assert (by_kind.loc[fallen, kind] > 0.65).all()
    assert (by_kind.loc[fallen, "pretrained encoder"] < 0.2).all()
    by_judge = read("08_joint_crossed_places", CONTROLS).groupby("method").place.min()
    assert by_judge[by_judge > 0.5].index.tolist() == ["occlusion_1"]  # "by every test"
    bars = yaml.safe_load((project.home() / "paper/cards.yml").read_text(encoding="utf-8"))
    declared = read_declared(project.home() / "paper" / "numbers.yml", DeclaredNumber)
    tables = csv_files(project.home() / "results/reference/full/tables")
    assert all(bar.pop("title") for bar in bars.values())
    asked = {
        key: declared[key] for card in bars.values() for key in card.values() if key in declared
    }
    said = {key: float(text) for key, text in read_numbers(tables, asked).items()}
    share = {judge: [said.get(key) for key in card.values()] for judge, card in bars.items()}
    best, random = share["pointing"]
    assert 3.5 < best / random < 4.5  # "four times"
    most, least, random = share["agreement"]
    assert most > 0.9
    assert least == pytest.approx(random, abs=0.02)  # "where random scores are"
    hard, soft, _ = share["faithfulness"]
    assert soft < 0.5 < 0.7 < hard  # "no better than a coin"
    token, pair, span, random = share["diagnosis"]
    assert token - 0.1 > max(pair, span) > random


def test_what_lies_far_from_sun_is_explained_as_its_numbers_say():
    far = pd.read_csv(project.home() / "results/reference/benchmark/far_sun.csv")
    tokens = far[far.part == "tokens"].set_index("setting")
    assert tokens.published["methods"] <= tokens.published["random scores"]  # "not told"
    assert tokens.ours["methods"] > tokens.ours["random scores"] + 10
    entropies = far[(far.part == "pairs") & (far.type == "pairs")].ours
    published = pd.read_csv(project.home() / "paper/reported/sun_complexity_tables11to12.csv")
    pairs = published[(published.technique == "Attention") & (published.dataset == "SNLI")]
    pairs = pairs[pairs.explanation_type == "TokenIntEx"].iloc[:, -1].sort_values()
    assert pairs.iloc[0] < entropies.min() - 1 and abs(pairs.iloc[1] - entropies.mean()) < 0.2
