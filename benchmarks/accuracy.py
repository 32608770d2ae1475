"""Time to accuracy: how near each sampled method comes to its own converged scores, and at what
price.

    python benchmarks/accuracy.py --model DIR --texts FILE.csv --count 12 --out accuracy.csv

A row a text, method and budget: Spearman's correlation with the scores that the method gives in the
limit, the overlap of the highest fifth of the tokens, evaluations, tokens, processor seconds. The
limit is LIME's regression on CONVERGED texts drawn by its kernel, Kernel SHAP's on as many
coalitions, Partition SHAP's tree taken apart to the end, and integrated gradients with STEPS nodes
in float64. Texts that are done are kept: a run that was cut short goes on. `--summary FOLDER`
writes the means over texts, which the paper prints, to a file there.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from measuring import parser, read_texts
from ours import instances
from scipy.stats import spearmanr

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.core.tables import write_csv
from attreval.methods import METHODS
from attreval.methods.lime import draw_weighted, fit_surrogate
from attreval.methods.method import Budget, Scores, UnitSettings
from attreval.metrics.agreement import overlap_at_k
from attreval.models.loading import load_classifier
from attreval.models.questions import Evaluate
from attreval.models.scorer import Scorer

CONVERGED = 5000
STEPS = 300
UNLIMITED = 10**6
TOP = 0.2  # of a text's tokens, whose overlap is measured
SAMPLES = (50, 100, 200, 400, 800)
NODES = (2, 4, 8, 16, 32, 50)
RELIABILITIES = (0.7, 0.8, 0.9, 0.95)
MEANS = ("spearman", "top_overlap", "evaluations", "gradients", "tokens", "seconds")
DRAWS = 1000


@dataclass(frozen=True)
class Point:
    """One method at one budget on one text. setting: the budget, or the reliability at which the
    method stops.
    """

    text: int
    tokens_in_text: int
    method: str
    setting: str
    spearman: float
    top_overlap: float
    evaluations: int
    gradients: int
    tokens: int
    seconds: float


def budgets() -> list[tuple[str, str, Budget]]:
    """(method, setting, budget) of every point of the curves."""
    most = max(SAMPLES)
    points = [("lime", str(n), Budget(lime_samples=n)) for n in SAMPLES]
    points += [
        ("lime_gaussian_process", str(n), Budget(lime_samples=n, lime_reliability=1))
        for n in SAMPLES
        if n >= 64
    ]
    points += [
        (
            "lime_gaussian_process",
            f"reliability {r:g}",
            Budget(lime_samples=most, lime_reliability=r),
        )
        for r in RELIABILITIES
    ]
    points += [("partition_shap", str(n), Budget(shap_evaluations=n)) for n in SAMPLES]
    points += [
        ("kernel_shap", str(n), Budget(units=UnitSettings(shapley_samples=n))) for n in SAMPLES
    ]
    paths = ("integrated_gradients", "integrated_gradients_plain")
    return points + [
        (m, str(n), Budget(path_steps=n, path_steps_most=n)) for m in paths for n in NODES
    ]


def lime_in_the_limit(tokens, target, budget, rng):
    """LIME's coefficients from CONVERGED texts drawn as often as its kernel weighs them."""
    masks = draw_weighted(len(tokens), CONVERGED, budget.lime_kernel_width, rng)
    ids = np.where(masks, tokens.ids[None], tokens.mask_id)
    probabilities = yield Evaluate(ids, tokens.segments, of="probability")
    return Scores(
        fit_surrogate(masks, probabilities[:, target], np.ones(len(masks)))[tokens.content]
    )


def converged(model, tokens, target: int, name: str) -> dict[str, np.ndarray]:
    """Method -> its scores in the limit."""
    exact = Scorer(model, precision="float32")
    float64 = Scorer(model, precision="float64")
    much = Budget(
        shap_evaluations=UNLIMITED,
        units=UnitSettings(shapley_samples=CONVERGED),
        path_steps=STEPS,
        path_steps_most=STEPS,
    )

    def ask(scorer, converse):
        (scores,) = scorer.converse(
            [("", converse(tokens, target, much, generator("converged", name)))]
        )
        return scores.values

    lime = ask(exact, lime_in_the_limit)
    found = {"lime": lime, "lime_gaussian_process": lime}
    for method in ("partition_shap", "kernel_shap"):
        found[method] = ask(exact, METHODS[method].converse)
    for method in ("integrated_gradients", "integrated_gradients_plain"):
        found[method] = ask(float64, METHODS[method].converse)
    return found


def curve_of(model, number: int, instance) -> list[Point]:
    """Every point of one text."""
    tokens = model.tokens(instance)
    target = int(Scorer(model).logits([(tokens.ids, tokens.segments)])[0].argmax())
    limits = converged(model, tokens, target, str(number))
    points = []
    n = len(tokens.content)
    for method, setting, budget in budgets():
        scorer = Scorer(model, precision="float32")
        rng = generator("accuracy", number, method, setting)
        begun = time.process_time()
        (scores,) = scorer.converse([("x", METHODS[method].converse(tokens, target, budget, rng))])
        seconds = time.process_time() - begun
        cost = scorer.costs["x"]
        limit = limits[method]
        likeness = spearmanr(scores.values, limit).statistic
        overlap = overlap_at_k(scores.values, limit, max(1, round(TOP * n)))
        spent = (cost.unique, cost.gradients, cost.unique_tokens, seconds)
        points.append(Point(number, len(tokens), method, setting, likeness, overlap, *spent))
    return points


def summarise(rows: list[dict]) -> list[dict]:
    """Means over texts of each method and setting, with a 95 % bootstrap interval of the
    correlation.

    A method that gives every token the same score on a text has no correlation there: that text
    counts as 0.
    """
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["setting"]), []).append(row)
    out = []
    for (method, setting), part in groups.items():
        values = {name: np.array([float(row[name]) for row in part]) for name in MEANS}
        likeness = np.nan_to_num(values["spearman"])
        counts = draw_counts(generator("accuracy", method, setting), len(part), DRAWS)
        low, high = percentile_interval(counts @ likeness / len(part), 0.95)
        means = {name: float(np.nanmean(found)) for name, found in values.items()}
        means |= {"spearman": float(likeness.mean()), "low": float(low), "high": float(high)}
        out.append(
            {"method": METHODS[method].title, "setting": setting, "texts": len(part)} | means
        )
    return out


def read_points(path: Path) -> list[dict]:
    """The points that a csv holds; none where there is no such file."""
    return pd.read_csv(path, dtype={"setting": str}).to_dict("records") if path.exists() else []


def main() -> None:
    """Measure text by text, and write what there is after each."""
    wanted = parser(__doc__)
    wanted.add_argument("--out", type=Path, required=True, help="csv of every text")
    wanted.add_argument("--summary", type=Path, help="folder that the means go to")
    asked = wanted.parse_args()
    torch.set_num_threads(asked.threads)
    model = load_classifier(asked.model)
    done = read_points(asked.out)
    known = {row["text"] for row in done}
    for number, instance in enumerate(instances(read_texts(asked.texts, asked.count))):
        if number in known:
            continue
        done += [asdict(point) for point in curve_of(model, number, instance)]
        write_csv(asked.out, pd.DataFrame(done))
        print(f"{number + 1} of {asked.count} texts", flush=True)
    if asked.summary:
        write_csv(asked.summary / "benchmark_accuracy.csv", pd.DataFrame(summarise(done)))


if __name__ == "__main__":
    main()
