"""The sentence at the end of each section: made of the table's numbers, of one row as well as of
many, and of none.
"""

import json
import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
from reference import CHECKOUT

from compendium.papers.common.coloured_text import ColouredText
from compendium.papers.common.sentences import (
    NOTHING,
    BoldSentence,
    between,
    say_together,
    say_verdicts,
)
from compendium.papers.joint import across, baselines, budgets, limits, shares_figure, twins
from compendium.papers.joint import sentences as joint
from compendium.papers.kamp2023 import sentences as kamp
from compendium.papers.kamp2023.readings import VotedText
from compendium.papers.pipeline import overview as pipeline
from compendium.papers.planted import sentences as planted
from compendium.papers.poerner2018 import sentences as poerner
from compendium.papers.sun2024 import sentences as sun
from compendium.papers.zhao2023 import sentences as zhao
from compendium.site.declarations import DeclaredNumber, read_declared
from compendium.site.tables import csv_files, read_numbers

RUNS = [CHECKOUT / "results" / "reference" / run / "tables" for run in ("quick", "full")]
K = 4
OF_K = dict.fromkeys(("three_groups", "groups", "dynamic"), (K,))
# module, where its tables begin -> a sentence, and the tables of the committed run that it is made
# of
# where tables begin, and of each sentence the tables of the committed run that it is made of
TABLES = {
    (pipeline, "03_overview"): "trained_models: models, cost: cost",
    (poerner, "04_poerner2018"): """pointing: blocks, how_often: pointing, beside_published: table2,
        chance: exceptions blocks, pointing_choices: choices, same_word: same_word,
        attractors: attractors""",
    (kamp, "05_kamp2023"): """pairs: summary, three_groups: agreement_at_k, groups: groups,
        lengths: summary, people: people, with_people: summary, dynamic: dynamic,
        peak_counts: summary dynamic_k, phrases: phrases, predicted_k: summary predicted_k,
        agreement_choices: ties signs rules, spread: summary, answer: summary,
        seeds: seeds_spread""",
    (zhao, "06_zhao2023"): """area: aopc, follows: aopc, data: table1, sizes: curves,
        diagnosticity: table2 table6, remains: remains, ratios: by_ratio, draws: draws,
        scale: keep_rates, changes: largest_changes changes, drivers: largest_drivers drivers,
        settings: settings, erasure_examples: table4""",
    (sun, "07_sun2024"): """faithfulness: faithfulness, complexity: complexity,
        agents: learned agents, leaks: leaks, explained_models: models,
        properties: summary faithfulness,
        rules: rules, oracle: oracle, combined: combined""",
    (joint, "08_joint"): """counts: counts values,
        correlations: correlations_pooled chance reliability,
        random: random_baseline_by_metric, pareto: pareto_by_method pareto,
        choice: choice objections, places: places""",
    (across, "08_joint_models"): "across: across across_by_metric",
    (shares_figure, "08_joint_models"): "decomposition: decomposition",
    (budgets, "08_joint_settings"): "stability: stability",
    (limits, "08_joint_settings"): "limits: limits_turned limits_methods",
    (twins, "08_joint_settings"): "masked: masked_moves",
    (baselines, "08_joint_settings"): "baselines: ig_baselines",
    (planted, "09_planted"): """separations: separations, planted: verdicts, worlds: separations,
        constant: constant, raised: raised_verdicts""",
}


def said():
    """Each sentence's function, its tables, and what else it is given."""
    for (module, begins), sentences in TABLES.items():
        for one in sentences.split(","):
            name, tables = one.strip().split(": ")
            names = [f"{begins}_{table}" for table in tables.split()]
            yield getattr(module, f"say_{name}"), names, OF_K.get(name, ())
        if "04" <= begins[:2] <= "07":
            yield say_verdicts, [f"{begins}_claims"], ()


def read(names):
    """These tables, of the first committed run that has all of them."""
    tables = next(run for run in RUNS if all((run / f"{name}.csv").exists() for name in names))
    return [pd.read_csv(tables / f"{name}.csv") for name in names]


def test_they_say_something_with_numbers_and_that_little_or_nothing_was_found():
    """A small run leaves few rows, a run without a judge none."""
    for function, names, more in said():
        where = f"{function.__module__}.{function.__name__}"
        tables = read(names)
        sentence = function(*tables, *more)
        assert (
            isinstance(sentence, BoldSentence) and sentence._repr_markdown_() == f"**{sentence}**"
        )
        assert re.search(r"\d", sentence) and sentence.endswith("."), where
        assert "nan" not in sentence.lower().split(), where
        titles = re.sub(r"\(\w+_\w+\)", "", sentence)
        assert "_" not in titles, f"{where} has a key where a title is wanted"
        assert function(*(table.head(0) for table in tables), *more) == NOTHING, where
        for rows in (1, 2):
            assert function(*(table.head(rows) for table in tables), *more).endswith("."), where
        floats = [table.select_dtypes("float") for table in tables]
        unknown = [
            table.assign(**dict.fromkeys(of, np.nan))
            for table, of in zip(tables, floats, strict=True)
        ]
        assert "nan" not in function(*unknown, *more).split(), where
        others = [table.head(0) for table in tables[1:]]
        assert function(tables[0], *others, *more).endswith("."), where


def pairs(task, low, middle, high):
    """Rows of agreement at one k: a pair of each of the paper's three groups, where it has
    a value.
    """
    values = {
        ("partition_shap", "lime"): high,
        ("lime", "gradient_l1"): middle,
        ("lime", "gradient_x_input"): low,
    }
    rows = [(task, *pair, K, value) for pair, value in values.items() if value is not None]
    table = pd.DataFrame(rows, columns=["task", "method_a", "method_b", "k", "agreement"])
    return table.assign(low=table.agreement - 0.1, high=table.agreement + 0.1)


def test_numbers_come_with_their_intervals():
    assert between(0.041, 0.012, 0.07) == "0.04 [0.01, 0.07]"
    claims = pd.DataFrame(
        {"verdict": ["reproduced", "contradicted", "contradicted"], "statement": ["A", "B", "C"]}
    )
    claims = claims.assign(claimed="above 0", value=-0.5, low=-1.0, high=-0.2, q=[0.01, 0.02, 0.03])
    said = (
        "3 conclusions: 1 “reproduced”, 2 “contradicted”. Contradicted most clearly: “B” (-0.50 "
        "[-1.00, -0.20]"
    )
    assert said in say_verdicts(claims)
    assert kamp.say_three_groups(pairs("snli", 0.5, 0.7, 0.9), K) == (
        "At k = 4 the three groups are separate, in the paper's order, in 1 of 1 tasks; on SNLI "
        "pairs range from 0.90 "
        "[0.80, 1.00] (Partition SHAP and LIME) to 0.50 [0.40, 0.60] (LIME and Gradient x Input)."
    )


def test_a_word_is_no_missing_number():
    claims = pd.DataFrame({"verdict": ["contradicted"], "claimed": "above 0", "q": 0.01})
    known = claims.assign(statement="nan bread is bread", value=0.5, low=0.1, high=0.9)
    assert "“nan bread is bread” (0.50 [0.10, 0.90]" in say_verdicts(known)
    for statement in ("nan bread", "B"):
        assert say_verdicts(known.assign(statement=statement, value=np.nan)) == NOTHING


def test_a_task_without_one_of_the_groups_is_asked_for_those_that_it_has():
    """What one task lacks is no number that a comparison could fail by."""
    known = {
        (0.5, 0.7, None): 2,
        (None, 0.5, 0.7): 2,
        (0.5, None, 0.7): 2,
        (0.7, 0.5, None): 1,
        (0.7, 0.8, 0.75): 1,
    }
    for more, held in known.items():
        both = pd.concat([pairs("snli", 0.5, 0.7, 0.9), pairs("rotten_tomatoes", *more)])
        assert f"in {held} of 2 tasks" in kamp.say_three_groups(both, K)


def test_sentences_and_the_text_have_the_same_numbers():
    names = ["05_kamp2023_summary", "05_kamp2023_dynamic_k"]
    tables = next(run for run in RUNS if (run / "05_kamp2023_summary.csv").exists())
    numbers = read_numbers(
        csv_files(tables), read_declared(CHECKOUT / "paper" / "numbers.yml", DeclaredNumber)
    )
    summary, peaks = read(names)
    said = kamp.say_pairs(summary)
    keys = ("highest_pair", "highest_agreement", "lowest_pair", "lowest_agreement")
    assert all(numbers[f"agreement.snli.{key}"] in said for key in keys), said
    assert all(
        numbers[f"dynamic.snli.{key}"] in kamp.say_peak_counts(summary, peaks)
        for key in ("most", "fewest")
    )
    (blocks,) = read(["04_poerner2018_blocks"])
    said = poerner.say_pointing(blocks)
    named = product(("topics", "sentiment"), ("best", "best_method"))
    assert all(numbers[f"pointing.{block}.{key}"] in said for block, key in named)


def test_the_rise_with_k_ends_where_the_shortest_texts_are_whole():
    curves = {10: np.minimum(np.arange(1, 41) / 10, 1), 40: np.arange(1, 41) / 40}
    rows = [("snli", n, k, curve[k - 1]) for n, curve in curves.items() for k in range(1, 41)]
    lengths = pd.DataFrame(rows, columns=["task", "length", "k", "agreement"])
    spec = SimpleNamespace(fixed_k=4, largest_k=40, tie_draws=2)
    step = SimpleNamespace(profile=SimpleNamespace(agreement=spec))
    assert kamp.say_lengths(kamp.agreement_summary(step, lengths=lengths)) == (
        "On SNLI each further token raises agreement by 0.100 in texts of about 10 tokens and by "
        "0.025 in texts of about 40."
    )


def test_an_answer_is_made_of_what_can_be_said():
    assert say_together("This.", NOTHING, "That.") == "This. That."
    assert say_together(NOTHING, NOTHING) == NOTHING


def test_texts_shown_are_counted():
    words = ("a", "b", "c")
    evidence = np.array([False, True, False])
    shown = ColouredText(words, {"LRP": np.array([0, 1, 0]), "LIME": np.array([1, 0, 0])}, evidence)
    said = poerner.say_pointing_examples(
        {"topics": shown, "none": ColouredText((), {}, np.zeros(0, bool))}
    )
    assert said == "Of the 2 explanations shown, 1 point at evidence (topics 1 of 2)."
    scores = {
        "gradient_l1": np.array([0.0, 1, 0, 0]),
        "integrated_gradients_plain": np.array([1.0, 0, 1, 0]),
    }
    reading = VotedText("x", ("a", "b", "c", "d"), scores, np.zeros((0, 4)))
    spec = SimpleNamespace(peaks="released")
    said = (
        "1 of 4 tokens are peaks of Gradient (L1) and 2 of 4 tokens are peaks of Integrated "
        "Gradients (plain)"
    )
    assert kamp.say_peaks([reading], spec) == f"In the texts shown, {said}."


def test_every_section_of_the_later_notebooks_ends_with_a_sentence():
    titles = ("# ", "## One text by hand", "## One pair by hand", "## Two judges, one text")
    others = ("07_sun2024_agents", "07_sun2024_explanations")
    for path in (
        path for path in (CHECKOUT / "notebooks").glob("0[4-9]_*.ipynb") if path.stem not in others
    ):
        last: dict[str, str] = {}  # section -> its last line
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"]).strip()
            if cell["cell_type"] == "markdown" and re.match(r"#+ ", source):
                title = source.splitlines()[0]
                last[title] = title
            elif cell["cell_type"] == "code" and source != "step.finish()":
                last[title] = source.splitlines()[-1]
        silent = [title for title, line in last.items() if not re.search(r"\bsay_\w+\(.*\)$", line)]
        assert all(title.startswith(titles) for title in silent), (path.stem, silent)


def test_the_best_type_is_the_highest_or_the_lowest_as_the_property_asks():
    """Spans have the highest value of each property: best by agreement, worst by complexity."""
    values = {"token": 0.1, "pair": 0.2, "span": 0.3}
    cell = {"task": "t", "model": "m", "technique": "lime"}
    for name, best in (
        ("token agreement", "spans"),
        ("interaction agreement", "spans"),
        ("complexity", "tokens"),
    ):
        rows = [
            cell | {"property": name, "type": kind, "value": value}
            for kind, value in values.items()
        ]
        faithfulness = pd.DataFrame(columns=["type", "measure", "mean"])
        assert f"often {best} by {name}" in str(
            sun.say_properties(pd.DataFrame(rows), faithfulness)
        )
