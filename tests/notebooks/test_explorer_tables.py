"""Do the explorer's scores of single texts average to what the tables of the smoke run say?"""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from attreval.methods import TECHNIQUES
from attreval.metrics import METRICS
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.dynamic_k import local_maxima, select
from compendium import project

pytestmark = pytest.mark.workflow
RUN = ["task", "model", "seed"]
SUN = {
    "unified_comprehensiveness": ("faithfulness", "comprehensiveness"),
    "unified_sufficiency_inverted": ("faithfulness", "sufficiency"),
    "complexity": ("complexity", "entropy"),
}


@pytest.fixture(scope="module")
def page(finished):
    """What the page of the finished run holds."""
    path = finished.home / "_site" / "explorer.html"
    assert path.stat().st_size < 3_000_000
    return json.loads(
        BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").find(id="data").string
    )


@pytest.fixture(scope="module")
def judged(page):
    """Means over the page's texts by task, model, seed, method and measure."""
    rows = []
    for run in page["runs"]:
        assert len(run["texts"]) == run["explained"]
        for one in run["texts"]:
            for measure, column in one["metrics"].items():
                values = zip(run["methods"], column, strict=True)
                rows += [
                    (*(run[n] for n in RUN), method, measure, v)
                    for method, v in values
                    if v is not None
                ]
    frame = pd.DataFrame(rows, columns=[*RUN, "method", "measure", "value"])
    return frame.groupby([*RUN, "method", "measure"]).value.mean()


def read(finished, name: str) -> pd.DataFrame:
    """A table of the run."""
    return pd.read_csv(finished.results / "tables" / f"{name}.csv")


def check(judged, rows) -> None:
    """Compare means with (task, model, seed, method, measure, value) of a table."""
    rows = list(rows)
    for *key, value in rows:
        # the page keeps six digits
        assert judged[tuple(key)] == pytest.approx(value, rel=1e-5, abs=1e-6), key
    assert len(rows) > 20


def test_hits_are_those_of_the_pointing_table(finished, judged):
    table = read(finished, "04_poerner2018_pointing")
    shown = set(judged.index.get_level_values("method"))
    table = table[(table.condition == "all") & table.method.isin(shown)]
    known = [
        row
        for row in table.itertuples()
        if (row.task, row.model, 1, row.method, row.metric) in judged.index
    ]
    check(judged, [(row.task, row.model, 1, row.method, row.metric, row.accuracy) for row in known])


def test_erasure_is_that_of_the_faithfulness_tables(finished, judged):
    area = read(finished, "06_zhao2023_aopc")
    check(judged, area[[*RUN, "method", "measure", "mean"]].itertuples(index=False))
    cells = read(finished, "06_zhao2023_table6")
    model = {row.task: row.model for row in area.itertuples()}
    check(
        judged,
        [
            (r.task, model[r.task], 1, r.method, f"win_{r.metric}", r.diagnosticity)
            for r in cells.itertuples()
        ],
    )
    draws = read(finished, "06_zhao2023_draws")
    soft = [
        (r.task, model[r.task], 1, r.method, m, getattr(r, m))
        for r in draws.itertuples()
        for m in ("soft_nc", "soft_ns")
    ]
    check(judged, soft)


def test_properties_are_those_of_the_diagnosis_tables(finished, judged):
    for measure, (name, column) in SUN.items():
        table = read(finished, f"07_sun2024_{name}")
        table = table[(table.measure == column) & (table.technique != "random")]
        names = [TECHNIQUES[row.technique][row.type] for row in table.itertuples()]
        means = 1 - table["mean"] if METRICS[measure].turned else table["mean"]
        rows = table.assign(method=names, measure=measure, mean=means)[
            [*RUN, "method", "measure", "mean"]
        ]
        check(judged, rows.itertuples(index=False))


def selections(packed: list) -> tuple[np.ndarray, np.ndarray]:
    """The scores of a method as the page has them, and which tokens its dynamic k selects."""
    _, values, *told = packed
    scores = np.array(values, dtype=float)
    return scores, select(
        np.array(told[0] if told else local_maxima(scores), dtype=int), len(scores)
    )


def test_agreement_is_that_of_the_agreement_tables(finished, page):
    fixed = (
        read(finished, "05_kamp2023_agreement_at_k")
        .set_index([*RUN, "method_a", "method_b", "k"])
        .agreement
    )
    people = read(finished, "05_kamp2023_with_people").set_index([*RUN, "method", "k"]).agreement
    dynamic = (
        read(finished, "05_kamp2023_dynamic")
        .drop_duplicates([*RUN, "a", "b"])
        .set_index([*RUN, "a", "b"])
        .dynamic
    )
    counted = 0
    for run in page["runs"]:
        key = tuple(run[n] for n in RUN)
        places = {m: i for i, m in enumerate(run["methods"])}
        read_of = {
            m: [selections(one["scores"][i]) for one in run["texts"] if one["scores"][i]]
            for m, i in places.items()
        }
        marks = [np.array(one["people"][1], dtype=float) for one in run["texts"] if "people" in one]
        if marks:
            read_of["people"] = [(m, select(local_maxima(m), len(m))) for m in marks]
        for a, b in combinations(read_of, 2):
            pairs = list(zip(read_of[a], read_of[b], strict=False))
            for k in (1, 4):
                value = np.mean([agreement_at_k([x[0], y[0]], k) for x, y in pairs])
                if (*key, a, b, k) in fixed.index:
                    counted += 1
                    assert value == pytest.approx(fixed[(*key, a, b, k)], abs=1e-9)
                    assert run["pairs"][f"{places[a]}-{places[b]}"][0][k - 1] == pytest.approx(
                        value, rel=1e-5
                    )
                if b == "people" and (*key, a, k) in people.index:
                    counted += 1
                    assert value == pytest.approx(people[(*key, a, k)], abs=1e-9)
            known = (*key, a, b) if (*key, a, b) in dynamic.index else (*key, b, a)
            if known in dynamic.index:
                counted += 1
                value = np.nanmean([agreement_of([x[1], y[1]]) for x, y in pairs])
                assert value == pytest.approx(dynamic[known], abs=1e-9)
    assert counted > 600


def test_the_page_can_be_made_alone(finished):
    made = finished.home / "explorer.html"
    first = made.read_bytes()
    made.unlink()
    done = finished.run("attreval.cli", "explore", "--profile", "smoke")
    assert done.returncode == 0 and done.stdout.strip() == str(made), done.stderr
    assert made.read_bytes() == first == (finished.home / "_site" / "explorer.html").read_bytes()


def test_what_is_kept_of_instances_is_the_same_from_every_run(finished):
    names = sorted(path.name for path in (finished.results / "values").glob("*.parquet"))
    told = {
        name for record in project.Results(finished.results).records() for name in record["files"]
    }
    assert {f"values/{name}" for name in names} <= told
    kept = ["04_poerner2018", "06_zhao2023", "07_sun2024", "08_joint", "08_joint_crossed"]
    assert {f"{name}_instances.parquet" for name in kept} <= set(names)
