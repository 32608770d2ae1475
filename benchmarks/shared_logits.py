"""How much of an explanation of a class's logit is what all classes share?

Each trained classifier of a run explains texts of its task twice, by the logit of the predicted
class and by its log-probability, and the two are compared word by word:
`python benchmarks/shared_logits.py RUN TABLES`, such as results/quick/models and data/processed.
"""

import sys
from pathlib import Path

import pandas as pd
from scipy.stats import spearmanr

import attreval as av

METHODS = ("gradient_x_input", "occlusion_1", "lrp")
TEXTS = 20


def compare(folder: Path, tables: Path) -> list[dict]:
    """A row for each method: mean rank correlation, and how often the top word is another."""
    task, _, model = folder.name.rpartition("-s")[0].partition("-")
    if not (tables / f"{task}.parquet").exists():
        return []
    table = pd.read_parquet(tables / f"{task}.parquet")
    rows = table[table["split"] == "test"].head(TEXTS)
    texts = [
        segments[0] if len(segments) == 1 else tuple(segments) for segments in rows["segments"]
    ]
    loaded = av.load(folder, 128)
    methods = [m for m in METHODS if m != "lrp" or loaded.family == "transformer"]
    found = {
        score: av.explain(loaded, texts, methods, score=score)
        for score in ("logit", "log_probability")
    }
    out = []
    for method in methods:
        pairs = [(a.scores(method), b.scores(method)) for a, b in zip(*found.values(), strict=True)]
        pairs = [(a, b) for a, b in pairs if len(a) > 2]
        out.append(
            {
                "family": loaded.family,
                "task": task,
                "model": model,
                "classes": len(loaded.labels),
                "method": method,
                "texts": len(pairs),
                "rank correlation": sum(spearmanr(a, b).statistic for a, b in pairs) / len(pairs),
                "another top word": sum(a.argmax() != b.argmax() for a, b in pairs) / len(pairs),
            }
        )
    return out


if __name__ == "__main__":
    run, tables = map(Path, sys.argv[1:])
    for folder in sorted(run.iterdir()):
        print(pd.DataFrame(compare(folder, tables)).round(2).to_string(index=False), flush=True)
