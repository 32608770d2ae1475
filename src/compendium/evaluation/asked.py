"""What is asked: a model, a table of texts, the methods; and the profile that answers it, for the workflow to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attreval.methods import METHODS

NAME, MODEL, TASK = "run", "model", "texts"
DEFAULT_METHODS = (  # of every kind one or two that cost at most some hundred evaluations of a text
    *("gradient_l2", "gradient_x_input", "integrated_gradients", "deeplift", "occlusion_1", "lime", "partition_shap"),
    *("attention", "scaled_attention", "lrp", "limsse_logit"),
)
# a path of fixed nodes: what integrated gradients miss is said in the report, and stops no other method
BUDGETS = {"path_steps": 32, "path_steps_most": 32, "lime_samples": 150, "shap_evaluations": 100, "riemann_steps": 16}
MOST_TOKENS = 512
MOST_SHARDS = 2  # steps that explain a task's texts side by side
HYBRID_SENTENCES = 5  # the paper has ten; what is asked of a text grows with the square of its length
HYBRID_SHARE = 0.2  # documents for a text that is explained


@dataclass(frozen=True)
class Asked:
    """model, data: absolute paths, or a hub name. columns: of the data, see config.own.CorpusSpec. labels: classes.

    methods: without random scores, which are always there. files: of attributions that were made elsewhere; given: the
    methods that these name. max_length: tokens that the model reads. size: texts that can be drawn; hybrid: documents
    that can be made of them. seconds: that a method takes for a text of common length, on one core. dropped: why rows
    cannot be used -> how many.
    """

    model: str
    data: Path
    columns: dict[str, str]
    labels: tuple[str, ...]
    methods: tuple[str, ...]
    max_length: int
    size: int
    hybrid: int = 0
    files: tuple[Path, ...] = ()
    given: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What is judged on what, for people."""
        return f"{Path(self.model).name} on {self.data.name}"


def pick_methods(wanted: Sequence[str], family: str) -> tuple[str, ...]:
    """The methods to compare, random scores left out; those of DEFAULT_METHODS that apply where none is wanted."""
    if not wanted:
        return tuple(name for name in DEFAULT_METHODS if family in METHODS[name].families)
    chosen = tuple(name for name in dict.fromkeys(wanted) if name != "random")
    if wrong := [name for name in chosen if METHODS[name].level != "token"]:
        raise ValueError(f"{wrong[0]!r} explains pairs or spans, and what is compared here are scores of tokens")
    return chosen


def shards_of(rows: int) -> int:
    """Into how many steps explaining so many texts is cut."""
    return min(MOST_SHARDS, rows)


def profile_of(asked: Asked, texts: int) -> dict:
    """The profile that explains and judges so many texts."""
    corpus = {"file": str(asked.data), "labels": list(asked.labels), "hybrid_sentences": HYBRID_SENTENCES}
    rows = min(texts, asked.size)
    tasks = {
        TASK: {
            "models": [MODEL],
            "train_rows": 0,
            "dev_rows": 0,
            "test_rows": min(1000, asked.size),
            "explain_rows": rows,
            "judges": ["agreement"],
            "explain": {"shards": shards_of(rows)},
        }
    }
    joint = {TASK: rows}
    made = min(asked.hybrid, max(1, round(HYBRID_SHARE * rows)))
    if asked.hybrid and not asked.files:  # what was made elsewhere has no scores of documents that are made here
        explain = {"shards": shards_of(made)}
        tasks[f"hybrid_{TASK}"] = {"models": [MODEL], "explain_rows": made, "judges": ["pointing"], "explain": explain}
        joint[f"hybrid_{TASK}"] = made
    return {
        "name": NAME,
        "workers": 2,
        "models": {MODEL: {"weights": asked.model, "max_length": asked.max_length, "labels": list(asked.labels)}},
        "corpora": {TASK: corpus | asked.columns},
        "attributions": [{"file": str(path), "labels": list(asked.labels)} for path in asked.files],
        "tasks": tasks,
        "explain": {"methods": ["random", *asked.methods, *asked.given], **BUDGETS},
        # of hybrid documents only the pointing game is asked, which needs no further evaluation
        "joint": {"tasks": joint, "asked": {task: 0 for task in joint if task != TASK}},
        "bootstrap": {"draws": 1000},
    }
