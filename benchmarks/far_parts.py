"""Why are cells of Table 2 of Poerner et al. (2018) far from ours? Three networks, trained anew.

`python benchmarks/far_parts.py [PART ...]`, half an hour of a processor: each PART trains its
networks as the profile `reference` does, with three seeds, and writes its rows into
results/reference/benchmark/far_parts.csv. Needs ATTREVAL_CORPORA and the tables of its tasks.

cnn: occlusion on Yelp, of the class's logit, of its probability, and of the two logits'
difference. qgru: norms of gradients at agreement, with fewer sentences
of training, and with the gate of the released code. lstm: the
manual benchmark of 20 newsgroups, with GloVe's vectors and without.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax

from attreval.core.records import Tokens
from attreval.methods import METHODS
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.methods.occlusion import _occlude
from attreval.methods.run import explain_instances
from attreval.metrics.pointing_game import play
from attreval.models.questions import Conversation, Evaluate
from attreval.models.scorer import Scorer
from compendium import project
from compendium.config import Profile, load_profile
from compendium.papers.common.runs import to_explain
from compendium.papers.pipeline.training import measure_accuracy, train_new
from compendium.papers.poerner2018.hits import affix_of

SEEDS = (1, 2, 3)
AS_EVER = {"as in the profile": {}}
PARTS = {  # part: trained on, network, explains, texts, settings, game, methods
    "cnn": (
        "yelp", "cnn", "hybrid_yelp", 150, AS_EVER, "hybrid",
        ("occlusion_1", "occlusion_difference", "occlusion_probability", "omission_1"),
    ),
    "qgru": (
        "agreement_parsed", "uni_qgru", "agreement_parsed", 300,
        AS_EVER | {
            "400 sentences": {"train_rows": 400},
            "1500 sentences": {"train_rows": 1500},
            "the code's gate": {"gate": "hard_sigmoid"},
        },
        "hit_target",
        ("gradient_l2", "gradient_integrated_logit_l2", "gradient_x_input", "occlusion_1"),
    ),
    "lstm": (
        "newsgroups", "lstm", "manual_newsgroups", 76,
        AS_EVER | {"random vectors": {"embeddings": None}}, "manual",
        ("gradient_l2", "gradient_x_input", "gradient_integrated_logit_dot", "occlusion_1"),
    ),
}  # fmt: skip


def occlusion_of(name: str, score_of: object) -> None:
    """Add occlusion by something else than the class's logit to METHODS."""

    @method(name, name=name, source="this script", kind="perturbation", evaluations="n + 1",
            cost=lambda length, content, budget, layers=1: content + 1)  # fmt: skip
    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        erased = [_occlude(tokens, np.array([at])) for at in tokens.content]
        ids, segments = map(list, zip((tokens.ids, tokens.segments), *erased, strict=True))
        scores = score_of((yield Evaluate(ids, segments)), target)
        return Scores(scores[0] - scores[1:])

    METHODS[name] = converse


def of_difference(logits: np.ndarray, target: int) -> np.ndarray:
    return logits[:, target] - np.delete(logits, target, axis=1).max(axis=1)


def of_probability(logits: np.ndarray, target: int) -> np.ndarray:
    return softmax(logits, axis=1)[:, target]


def changed_profile(profile: Profile, task: str, model: str, setting: dict) -> Profile:
    """The profile with another `train_rows` of the task, or other settings of the model."""
    rows = {name: value for name, value in setting.items() if name == "train_rows"}
    others = {name: value for name, value in setting.items() if name != "train_rows"}
    tasks = profile.tasks | {task: profile.tasks[task].model_copy(update=rows)}
    models = profile.models | {model: profile.models[model].model_copy(update=others)}
    return profile.model_copy(update={"tasks": tasks, "models": models})


def play_part(part: str, folder: Path) -> Iterator[dict]:
    """A row a setting, seed and method: hits, and how often the last token comes first."""
    task, model, explained, texts, settings, game, methods = PARTS[part]
    for setting, changes in settings.items():
        profile = changed_profile(load_profile("reference"), task, model, changes)
        spec = profile.explaining_of(explained)
        for seed in SEEDS:
            run = (task, model, seed)
            place = folder / f"{part}-{setting}-{seed}"
            network, train_rows, _ = train_new(profile, run, ("02_train", *run), place)
            accuracy = measure_accuracy(network, profile, run, run).row["accuracy"]
            scorer = Scorer(network, spec.token_budget)
            chosen = to_explain(profile, explained, model)[:texts]
            hits = []
            for one in explain_instances(scorer, chosen, list(methods), spec, run):
                of_text = (one.instance, one.tokens, one.predicted, one.attributions)
                for row in play(*of_text, "expectation", affix_of(profile.pointing, explained)):
                    found = one.attributions.get(row["method"])
                    top = found and np.argmax(found.on_content(one.tokens))
                    last = np.nan if found is None else top == len(one.tokens.content) - 1
                    hits.append((row["metric"], row["method"], row["hit"], last))
            every = pd.DataFrame(hits, columns=["game", "method", "hit", "last"])
            means = every[every.game == game].groupby("method")[["hit", "last"]].mean()
            for name, found in means.iterrows():
                about = {
                    "task": explained,
                    "model": model,
                    "setting": setting,
                    "run": f"run_{seed}",
                }
                yield about | {"rows": train_rows, "accuracy": accuracy, "method": name, **found}


def main(parts: list[str]) -> None:
    occlusion_of("occlusion_difference", of_difference)
    occlusion_of("occlusion_probability", of_probability)
    path = project.home() / "results" / "reference" / "benchmark" / "far_parts.csv"
    with tempfile.TemporaryDirectory() as folder:
        for part in parts or PARTS:
            rows = pd.DataFrame(play_part(part, Path(folder)))
            others = pd.read_csv(path) if path.exists() else rows[:0]
            others = others[others.task != PARTS[part][2]]
            pd.concat([others, rows]).round(4).to_csv(path, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
