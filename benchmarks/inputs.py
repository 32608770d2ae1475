"""The model and the texts that a benchmark reads where none are given: SNLI, and a classifier of
its pairs.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attreval.core.tables import write_csv
from compendium import corpora, project

HERE = Path(__file__).resolve().parent
TASK = "snli"
MODEL = "minilm"
PROFILE = "quick"
# enough for a classifier that is far from chance; what it knows does not change what asking costs
TRAIN_ROWS = 3000


def find_model() -> Path:
    """A trained classifier of the quick profile or of another, else one trained here and kept below
    benchmarks/.
    """
    name = f"{TASK}-{MODEL}-s1"
    results = project.home() / "results"
    for folder in (
        results / PROFILE / "models" / name,
        *sorted(results.glob(f"*/models/{name}")),
        HERE / ".inputs" / name,
    ):
        if (folder / "config.json").exists():
            return folder
    return train_model(HERE / ".inputs" / name)


def train_model(folder: Path) -> Path:
    """Fine-tune MiniLM on a few thousand pairs, as the quick profile does on more."""
    from attreval.models.loading import new_classifier
    from attreval.models.training import train
    from compendium import config

    corpora.fetch_tasks((TASK,), (MODEL,))
    profile = config.load_profile(PROFILE)
    labels = corpora.TASKS[TASK].labels
    names = ("benchmark", TASK, MODEL)
    instances = corpora.load_task(TASK, "train", TRAIN_ROWS)
    model = new_classifier(
        profile.models[MODEL],
        labels,
        names,
        instances,
        MODEL,
        "cpu",
        resolve=corpora.resolve_weights,
    )
    about = {"task": TASK, "weights": MODEL}
    train(
        model,
        instances,
        corpora.load_task(TASK, "dev", 200),
        profile.training_of(TASK, MODEL),
        folder,
        names,
        about,
    )
    return folder


def write_texts(count: int) -> Path:
    """The first pairs of the test set as a csv of text and other, kept below benchmarks/ and never
    committed.
    """
    path = HERE / ".inputs" / f"{TASK}-{count}.csv"
    if not path.exists():
        corpora.fetch_tasks((TASK,))
        pairs = [instance.segments for instance in corpora.load_task(TASK, "test", count)]
        write_csv(path, pd.DataFrame(pairs, columns=["text", "other"]))
    return path
