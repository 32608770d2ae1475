"""Which parts of the papers' tables are far from ours, and what was tried on them."""

import pandas as pd
import pytest

from compendium.site.fidelity import far_cells, far_cells_markdown


@pytest.fixture
def tables(tmp_path):
    """A run's tables of pointing and diagnosis, by name."""
    cell = {
        "experiment": "agreement",
        "architecture": "GRU",
        "metric": "hit_target",
        "confidence": "H",
    }
    made = {
        "04_poerner2018_table2": [
            cell | {"method": "omit_7", "ours": 0.3, "published": 0.7},
            cell | {"method": "occ_1", "ours": 0.7, "published": 0.75},
            cell | {"method": "omit_3", "ours": 0.1, "published": 0.9, "confidence": "L"},
            cell | {"method": "omit_1", "ours": None, "published": 0.9},
            cell | {"method": "lrp", "ours": 0.5, "published": 0.6},
        ],
        "04_poerner2018_choices": [
            {
                "choice": "windows",
                "value": "whole",
                "instead_of": "cut",
                "game": game,
                "largest": largest,
            }
            for game, largest in (("hit_target", -0.4), ("hit_feat", -0.5), ("hit_target", 0.1))
        ],
        "04_poerner2018_models": [{"experiment": "agreement", "ours_less_published": -0.07}],
        "07_sun2024_table_complexity": [
            {"token": "2.00 [1.50]", "pair": "1.00 [1.00]", "span": "–"}
        ],
        "07_sun2024_table_agreement": [
            {"token": "50.0 [52.0]", "pair": "50.0 [60.0]", "span": "1.0"}
        ],
    }
    paths = {}
    for name, rows in made.items():
        paths[f"{name}.csv"] = tmp_path / f"{name}.csv"
        pd.DataFrame(rows).to_csv(paths[f"{name}.csv"], index=False)
    return paths


def test_far_cells_are_counted_and_what_was_tried_stands_beside_them(tables):
    pointing, entropy = far_cells(tables).to_dict("records")
    assert (pointing["cells"], pointing["far"], entropy["cells"], entropy["far"]) == (2, 1, 2, 1)
    assert pointing["gap"] == pytest.approx(-0.4) and entropy["gap"] == pytest.approx(1 / 3)
    assert pointing["where"] == "Table 2, agreement, omission and occlusion"
    tried = (
        "windows: whole in place of cut (-0.40 at most)",
        "our models' accuracy less the published is -0.07",
    )
    assert pointing["tried"] == "; ".join(tried)
    assert entropy["where"] == "Tables 11 and 12, entropy" and entropy["tried"] == "nothing"


def test_a_paper_without_tables_is_left_out_and_a_run_without_any_has_no_rows(tables):
    assert set(
        far_cells({name: path for name, path in tables.items() if name[:2] == "07"}).paper
    ) == {"sun2024"}
    assert far_cells({}).empty and "Ours less published" in far_cells_markdown({})
