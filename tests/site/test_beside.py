"""Ours beside the published: which cells there are, which count, and how near they are."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.sun2024.tables import published_cells
from compendium.site.beside import parts_markdown, parts_table, read_cells
from compendium.site.dumbbells import draw_beside, draw_dumbbells

POINTING = {
    "experiment": "yelp hybrid",
    "architecture": "GRU",
    "metric": "hybrid",
    "condition": "all",
    "task": "hybrid_yelp",
    "confidence": "H",
}
WRONG = POINTING | {
    "experiment": "agreement",
    "metric": "hit_feat",
    "condition": "wrong",
    "task": "agreement_ud",
}


@pytest.fixture
def tables(tmp_path):
    """A run's tables of three papers, by name."""
    hits = [
        POINTING | {"method": "lrp", "ours": 0.5, "low": 0.4, "high": 0.6, "published": 0.6},
        POINTING | {"method": "random", "ours": 0.1, "low": 0, "high": 0.2, "published": 0.3},
        POINTING | {"method": "omission_1", "ours": 0.9, "published": 0.1, "confidence": "L"},
        POINTING | {"method": "deeplift", "ours": 0.9, "published": None},
        POINTING | {"method": "decomposition", "ours": None, "published": 0.2},
        WRONG | {"method": "lrp", "ours": 0.2, "published": 0.3},
        WRONG | {"method": "lrp", "task": "agreement_linzen", "ours": 0.6, "published": 0.3},
    ]
    cell = {"task": "sst2", "method": "attention", "metric": "nc", "dataset": "SST"}
    one = {"task": "snli", "model": "minilm", "technique": "shapley", "type": "token"}
    summary = [
        one
        | {"kind": "encoder", "property": "token agreement", "value": 0.5, "low": 0.4, "high": 0.6},
        one | {"kind": "encoder", "property": "simulatability", "value": 9.0},
    ]
    gain = one | {"technique": "attention", "form": "text", "gain": 2.0, "low": 1.0, "high": 3.0}
    made = {
        "04_poerner2018_table2": hits,
        "06_zhao2023_table6": [cell | {"diagnosticity": 0.5, "published": 0.4}],
        "06_zhao2023_table6_unlearned": [
            cell
            | {"task": "multirc", "dataset": "MultiRC", "diagnosticity": 0.5, "published": 0.4},
            cell | {"task": "snli", "dataset": "MultiRC", "diagnosticity": 0.9, "published": 0.4},
        ],
        "07_sun2024_summary": summary,
        "07_sun2024_agents": [gain],
    }
    paths = {}
    for name, rows in made.items():
        paths[f"{name}.csv"] = tmp_path / f"{name}.csv"
        pd.DataFrame(rows).to_csv(paths[f"{name}.csv"], index=False)
    return paths


def test_parts_count_legible_cells_of_models_that_have_learned(tables):
    parts = parts_table(read_cells(tables)).set_index(["part", "corpus"])
    hybrid = parts.loc["Table 2, yelp hybrid", ""]
    assert hybrid[["cells", "ours", "counted", "inside", "intervals"]].tolist() == [4, 3, 2, 1, 2]
    assert hybrid.distance == pytest.approx(0.15) and np.isnan(hybrid.correlation)
    agreement = "Table 2, agreement, a word of its number, wrong predictions"
    assert parts.loc[agreement].distance.tolist() == pytest.approx([0.1, 0.3])
    nc = parts.loc["Table 6, NC", ""]
    assert nc[["cells", "ours", "counted"]].tolist() == [20, 2, 1]


def test_sun_et_al_are_compared_in_their_unit_and_by_the_form_of_explanations(tables):
    cells = read_cells(tables).query("paper == 'sun2024'")
    assert len(cells) == len(published_cells())
    here = cells[cells.ours.notna()].set_index("part")
    assert here.ours.to_dict() == {"Tables 3 to 6, tokens": 50.0, "Tables 7 to 10, text": 2.0}
    tokens = here.loc["Tables 3 to 6, tokens"]
    assert (tokens.row, tokens.column) == ("SNLI, encoder, Shapley", "TokenEx")
    assert tokens[["low", "high"]].tolist() == [40.0, 60.0]


def test_the_order_of_cells_is_compared():
    cells = pd.DataFrame({"ours": [0.1, 0.2, 0.4, 0.3], "published": [0.1, 0.2, 0.3, 0.4]})
    about = {"paper": "kamp2023", "part": "Table 1", "corpus": "", "low": np.nan, "high": np.nan}
    table = parts_table(cells.assign(counts=True, **about))
    assert table.correlation.tolist() == pytest.approx([0.8])
    assert "| 4 of 4 | 0.05" in parts_markdown(table) and "0.80" in parts_markdown(table)


def test_a_run_without_a_papers_tables_has_no_cells_and_pictures_that_say_so(tables, tmp_path):
    tables.pop("07_sun2024_summary.csv")
    tables.pop("06_zhao2023_table6_unlearned.csv")
    cells = read_cells(tables)
    assert set(cells.paper) == {"poerner2018", "zhao2023"} and cells.counts.any()
    assert read_cells({}).empty and parts_table(read_cells({})).empty
    names = {path.name for path in draw_beside(cells, tmp_path)}
    assert {"beside-sun2024.svg", "beside-poerner2018.png"} <= names


def test_a_dumbbell_joins_the_published_value_and_ours(tables):
    cells = read_cells(tables).query("paper == 'poerner2018' and ours == ours")
    axes = draw_dumbbells(cells)
    ends = [line[:, 0].tolist() for line in axes.collections[0].get_segments()]
    assert ends == [[0.6, 0.5], [0.3, 0.1], [0.1, 0.9]]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert len(rows) == 3 and len(axes.figure.axes) == 2
    mean = axes.figure.axes[1].collections[0].get_segments()
    assert [one[:, 0].tolist() for one in mean] == [[0.3, pytest.approx(0.4)]]


def test_a_column_that_is_grey_throughout_is_named_by_grey():
    cells = pd.DataFrame(
        {"part": "one", "row": "a", "column": ["SST", "EvInf"], "ours": 0.5, "published": 0.4}
    )
    for counts, said in (
        ([True, True], ["SST", "EvInf", "published"]),
        ([True, False], ["SST", "published", "in no mean: EvInf"]),
    ):
        (legend,) = draw_dumbbells(cells.assign(counts=counts)).figure.legends
        assert [text.get_text() for text in legend.get_texts()] == said
