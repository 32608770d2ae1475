"""Whether what a claim was tested on is the paper's own or stands in for it: corpus, model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compendium.config import Profile


@dataclass(frozen=True)
class Original:
    """tasks: the paper's corpora. weights: pretrained ones that it used. words: word-level models? code: released?"""

    tasks: tuple[str, ...]
    weights: tuple[str, ...] = ()
    words: bool = False
    code: bool = True


ORIGINALS = {
    "poerner2018": Original(("hybrid_newsgroups", "manual_newsgroups", "agreement_linzen"), words=True),
    "kamp2023": Original(("esnli",), ("distilbert-base-uncased",)),
    "zhao2023": Original(
        ("sst2", "ag_news", "evidence_inference", "multirc"),
        ("bert-base-uncased", "scibert_scivocab_uncased", "roberta-base"),
    ),
    "sun2024": Original(("snli", "fever"), ("bert-base-uncased", "bart-base"), code=False),
}


def standing(paper: str, tasks: Iterable[str], models: Iterable[str], profile: Profile) -> dict[str, str]:
    """corpus and model: `the paper's`, `stand-in`, or `in part`; and metric, where there is no code to go by."""
    original = ORIGINALS[paper]

    def own(name: str) -> bool:
        spec = profile.models.get(name)
        if spec is None:
            return False
        if spec.architecture not in ("transformer", "encoder_decoder"):
            return original.words
        return (spec.weights or "").rpartition("/")[2] in original.weights

    metric = {} if original.code else {"metric": "made from the text, no code"}
    return metric | {
        "corpus": _say([task in original.tasks for task in tasks]),
        "model": _say([own(name) for name in models]),
    }


def _say(own: list[bool]) -> str:
    return "the paper's" if own and all(own) else "in part" if any(own) else "stand-in"
