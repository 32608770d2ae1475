"""The court's table: what other libraries' metrics say, beside ours of the same scores.

Beside each metric stands one of ours that comes nearest to it (TWINS), in the same setting where
the other library lets it be chosen. Letters used for shapes: n words.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attreval.core.tables import write_text
from attreval.metrics import METRICS
from attreval.metrics.erasure import ask_hard
from attreval.metrics.metric import Metric, metric
from attreval.metrics.separation import MUST
from attreval.trial.board import VALUES, write_submission
from attreval.trial.exchange import TheirValues, read_values
from attreval.trial.explainers import DEGRADED, EXPLAINERS, real_methods
from attreval.trial.measure import Trial, try_metrics
from attreval.trial.run import Result, add_values, one_half
from attreval.trial.verdict import matrix_table, verdicts_by_metric

sys.path.insert(0, str(Path(__file__).resolve().parent))
from exported import lines
from reasons import REASONS

HERE = Path(__file__).resolve().parents[2]
TENTHS = tuple(np.arange(1, 11) / 10)
OURS = ("comprehensiveness", "sufficiency", "nc", "ns", "soft_nc", "soft_ns", "soft_nc_equal")
KEY = ["text", "explainer"]


def as_set(name: str, **protocol: Any) -> Metric:
    """One of our metrics with another protocol of erasure."""
    base = METRICS[name]

    def asked(text, method):
        changed = replace(text.settings.protocol, **protocol)
        settings = replace(text.settings, protocol=changed)
        return (yield from base.function(replace(text, settings=settings, found={}), method))

    return replace(base, function=asked)


def curve(inserting: bool) -> Metric:
    """The area under the probability as words go, or come back, one by one in a masked text."""

    @metric("Area", judge="", source="ours", needs=("scores", "model"), higher_is_better=inserting)
    def area(text, method):
        n = len(text.tokens.content)
        protocol = replace(text.settings.protocol, erased="mask", baseline="content")
        masked = replace(text, settings=replace(text.settings, protocol=protocol), found={})
        found = yield from ask_hard(masked, method, tuple(np.arange(1, n + 1) / n))
        first = found.erased if inserting else found.full
        left = found.full - (found.sufficiency if inserting else found.comprehensiveness)
        return float(np.trapezoid([first, *left]) / n)

    return area


masked = partial(as_set, erased="mask", baseline="content")
TWINS: dict[str, Callable[[], Metric]] = {
    "comprehensiveness, tenths": lambda: masked("comprehensiveness", ratios=TENTHS),
    "sufficiency, tenths": lambda: masked("sufficiency", ratios=TENTHS),
    "comprehensiveness, 3 of 10": lambda: masked("comprehensiveness", ratios=(0.3,)),
    "sufficiency, 3 of 10": lambda: masked("sufficiency", ratios=(0.3,)),
    "comprehensiveness, 5 shares": lambda: masked(
        "comprehensiveness", ratios=(0.05, 0.1, 0.2, 0.33, 0.5)
    ),
    "comprehensiveness, a fifth": lambda: masked("comprehensiveness", ratios=(0.2,)),
    "sufficiency, a fifth": lambda: masked("sufficiency", ratios=(0.2,)),
    "nc, a fifth": lambda: masked("nc", ratios=(0.2,)),
    "ns, a fifth": lambda: masked("ns", ratios=(0.2,)),
    "insertion": lambda: curve(True),
    "deletion": lambda: curve(False),
    "soft_nc": lambda: METRICS["soft_nc"],
    "soft_ns": lambda: METRICS["soft_ns"],
    "infidelity": lambda: METRICS["infidelity"],
    "faithfulness_estimate": lambda: METRICS["faithfulness_estimate"],
    "sparseness": lambda: METRICS["sparseness"],
    "complexity": lambda: METRICS["complexity"],
}


class Compared(NamedTuple):
    """How near two metrics are. ranks: Spearman's correlation; apart: the largest difference."""

    ranks: float
    apart: float


def compare(theirs: pd.DataFrame, ours: pd.DataFrame, tied: pd.MultiIndex) -> Compared:
    """Two metrics over texts and explanations, both turned so that higher is better.

    tied: explanations with equal scores are left out, as every library breaks ties in its own way.
    """
    both = [one.set_index(KEY).eval("value * sign") for one in (theirs, ours)]
    table = pd.concat(both, axis=1, join="inner").dropna()
    a, b = table[~table.index.isin(tied)].to_numpy().T
    return Compared(float(spearmanr(a, b).statistic), float(np.abs(a - b).max()))


def try_all(said: TheirValues) -> Trial:
    """Their world with their values, and those of our twins and OURS."""
    metrics = {name: make() for name, make in TWINS.items()}
    metrics |= {name: METRICS[name] for name in OURS} | {one_half.name: one_half}
    trial = try_metrics(
        metrics,
        said.texts,
        worlds=said.worlds,
        explainers=tuple(EXPLAINERS),
        seed=said.seed,
        methods=real_methods(),
    )
    return add_values(trial, said)


def judge(folder: Path, said: TheirValues, trial: Trial) -> pd.DataFrame:
    """A row a metric of theirs, and of OURS: verdict, and how near our twin is."""
    matrix = matrix_table(trial)
    verdicts = verdicts_by_metric(matrix, {}).set_index("metric")
    tied = pd.MultiIndex.from_tuples(
        (row["id"], row["method"])
        for row in lines(folder / "scores.jsonl")
        if len(set(row["scores"])) < len(row["scores"])
    )
    by = dict(list(trial.values.groupby("metric")))
    rows = []
    for name in [*said.metrics, *OURS]:
        reason = REASONS.get(name)
        near = compare(by[name], by[reason.twin], tied) if reason else Compared(np.nan, np.nan)
        cell = matrix[matrix.metric == name].iloc[0]
        rows.append(
            {
                "metric": name,
                "ours": reason.twin if reason else "",
                "ranks": near.ranks,
                "apart": near.apart,
                "before_random": cell.auc,
                "low": cell.low,
                "high": cell.high,
                "before_reverse": cell.reversed,
                "falls": cell.tau,
                "known": cell.known,
                "texts": cell.texts,
                "verdict": verdicts.verdict[name],
                "fooled_by": verdicts.fooled_by[name],
                "moved_by": verdicts.moved_by[name],
                "why": reason.why if reason else "",
            }
        )
    return pd.DataFrame(rows)


def submit(values: Path, said: TheirValues, trial: Trial, path: Path) -> None:
    """Write their lines of the board, and beside them the values that these rest on."""
    needed = {"oracle", *MUST, *DEGRADED}
    kept = [row for row in lines(values) if row["method"] in needed]
    write_text(path.parent / VALUES / path.name, "".join(json.dumps(row) + "\n" for row in kept))
    own = tuple(said.metrics)
    theirs = replace(trial, values=trial.values[trial.values.metric.isin(own)])
    write_submission(
        path, Result(theirs, said.metrics, tuple(said.worlds), said.texts, own, theirs=())
    )


def as_markdown(table: pd.DataFrame) -> str:
    """The table as pipes."""
    head = "metric,ours beside it,ranks,largest difference,before random,before reverse,verdict"
    out = [head.split(",") + ["fooled by", "why they differ"]]
    for row in table.itertuples():
        near = ["" if pd.isna(one) else format(one, ".2g") for one in (row.ranks, row.apart)]
        won = f"{row.before_random:.0%} ({row.low:.0%}-{row.high:.0%})"
        cells = [row.metric, row.ours, *near, won, f"{row.before_reverse:.0%}", row.verdict]
        out.append([*cells, row.fooled_by, row.why])
    out.insert(1, [":--"] * len(out[0]))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in out)


def main() -> None:
    """Judge values, and write court.csv and the table in court.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="that attreval trial --export wrote")
    parser.add_argument("values", type=Path, nargs="+", help="of adapters")
    parser.add_argument("--out", type=Path, default=HERE, help="where the table goes")
    given = parser.parse_args()
    whole = given.folder / "values.jsonl"
    write_text(whole, "".join(path.read_text(encoding="utf-8") for path in given.values))
    said = read_values(whole, None)
    trial = try_all(said)
    table = judge(given.folder, said, trial)
    submit(whole, said, trial, given.out / "board" / "court.jsonl")
    place = given.out / "results" / "reference" / "benchmark" / "court.csv"
    write_text(place, table.to_csv(index=False, float_format="%.6g"))
    page = given.out / "benchmarks" / "court.md"
    before, mark, _ = page.read_text(encoding="utf-8").partition("<!-- table -->\n")
    write_text(page, f"{before}{mark}\n{as_markdown(table)}")
    print(f"{place}\n{page}")


if __name__ == "__main__":
    main()
