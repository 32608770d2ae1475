"""Why are tokens, and attention's pairs, of Sun et al. (2024) far from ours? No network is trained.

`python benchmarks/far_sun.py`, ten minutes of a processor, after `attreval run --profile reference`
has trained `02_train-snli-minilm_seeds-s1`: writes results/reference/benchmark/far_sun.csv.

tokens: agreement with people of methods and of random scores, ours and published. pairs: the
entropy of attention's scores on SNLI, by each head of the last layer (the most important first) and
by each other rule that the paper leaves open; published for BERT and BART.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from attreval.methods.run import explain_instances
from attreval.metrics.unified.complexity import unified_entropy
from attreval.models.scorer import Scorer
from compendium import corpora, project
from compendium.config import load_profile
from compendium.papers.common.trained_models import load_model
from compendium.papers.sun2024.explanations import budget_of_types

PROFILE = load_profile("reference")
REPORTED = project.home() / "paper" / "reported"
TEXTS = 100
HEADS = 12
METHODS = {"attention_head_pairs": "pairs", "attention_head_spans": "spans"}
RULES = {
    "largest of subwords": {"subword_pairs": "max"},
    "the code's matrix": {"head_matrix": "code"},
    "state before the layer": {"head_state": "before"},
    "head of all classes": {"head_choice": "class_mean"},
}


def tokens() -> Iterator[dict]:
    """Means over the techniques and models that both have, in hundredths."""
    tables = project.home() / "results" / "reference" / "full" / "tables"
    ours = pd.read_csv(tables / "07_sun2024_table_agreement.csv")
    ours = ours[(ours.property == "token agreement") & (ours.task == "snli")]
    published = pd.read_csv(REPORTED / "sun_agreement_tables3to6.csv")
    published = published[
        (published.dataset == "SNLI")
        & (published.level == "token")
        & (published.explanation_type == "TokenEx")
    ]
    chance = published.technique == "Random"
    first = ours.token.str.partition(" ")[0].astype(float)
    for setting, own, theirs in (
        ("methods", first, published[~chance]),
        ("random scores", ours.chance.astype(float), published[chance]),
    ):
        yield {
            "part": "tokens",
            "setting": setting,
            "type": "token",
            "ours": own.mean(),
            "published": theirs["MAP_x100"].mean(),
        }


def pairs() -> Iterator[dict]:
    """Mean entropies over texts, in nats."""
    results = project.results("reference")
    network = load_model(results, PROFILE, "snli", "minilm_seeds", 1)
    scorer = Scorer(network, PROFILE.explaining_of("snli").token_budget)
    texts = corpora.load_task("snli", "test", TEXTS)
    budget = budget_of_types(PROFILE, "snli")
    by_rank = {f"head {rank + 1}": {"head_rank": rank} for rank in range(HEADS)}
    for setting, changes in (by_rank | RULES).items():
        own = budget.changed(units=budget.units.changed(**changes))
        found = explain_instances(scorer, texts, list(METHODS), own, ("far_sun",))
        for method, kind in METHODS.items():
            entropies = []
            for one in found:
                k = len(one.attributions["attention_head_spans"].scores)
                falling = np.sort(np.abs(one.attributions[method].scores))[::-1]
                entropies.append(unified_entropy(falling, k))
            yield {
                "part": "pairs",
                "setting": setting,
                "type": kind,
                "ours": np.nanmean(entropies),
            }


if __name__ == "__main__":
    rows = pd.DataFrame([*tokens(), *pairs()])
    path = project.home() / "results" / "reference" / "benchmark" / "far_sun.csv"
    rows.round(4).to_csv(path, index=False)
