"""Samples: how many texts, by which models, a judge's figures rest on, as a sentence for their captions."""

from __future__ import annotations

from typing import get_args

from compendium.config import Judge, Profile
from compendium.corpora import TASKS

JUDGES = get_args(Judge)


def describe_samples(profile: Profile) -> dict[str, str]:
    """For each judge: the profile, its models and numbers of texts by task, seeds, and what intervals are."""
    return {judge: _describe_sample(profile, judge) for judge in JUDGES}


def _describe_sample(profile: Profile, judge: str) -> str:
    """The sentence of one judge."""
    found: dict[tuple[str, int], list[str]] = {}
    runs = profile.explained_runs(judge)
    for task, model, _ in runs:
        rows = profile.diagnosis.rows if judge == "diagnosis" else profile.rows_explained(task, model)
        models = found.setdefault((task, rows), [])
        models += [] if model in models else [model]
    parts: dict[str, list[str]] = {}
    for (task, rows), models in found.items():
        parts.setdefault(_enumerate_words(models), []).append(f"{rows} ({TASKS[task].short})")
    if not parts:
        return f"Profile {profile.name}: no texts."
    seeds = len({seed for *_, seed in runs})
    texts = "; ".join(f"{models} on n = {_enumerate_words(counts)} texts" for models, counts in parts.items())
    share = f"{profile.bootstrap.confidence:.0%}".replace("%", " %")
    seeded = f"{seeds} seed{'s' if seeds > 1 else ''}"
    if judge == "agreement" and seeds > 1 and profile.agreement.runs == "lowest_apd":
        seeded = f"of {seeded} the run with the lowest average pairwise difference"
    return f"Profile {profile.name}: {texts}; {seeded}. Intervals: {share} bootstrap over texts."


def _enumerate_words(words: list[str]) -> str:
    """Words with commas, and `and` before the last."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
