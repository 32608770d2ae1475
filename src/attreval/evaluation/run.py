"""Which explanation to trust for one's own model and texts.

Samples of the texts grow until one method leads; each is explained and judged, and the answers are
kept.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import pandas as pd
import torch

from attreval.api.explaining import explain, pick_output
from attreval.api.loading import check_model, load
from attreval.api.method_names import asks_for_all, find_methods
from attreval.core.records import Evidence
from attreval.evaluation.findings import LARGE_GAP, Evaluation, conclude
from attreval.evaluation.judged import TOGETHER, Judge, Judged, answers_folder
from attreval.evaluation.page import check_report_folder, hold_folder, write_report
from attreval.evaluation.texts import (
    Document,
    instance_of_row,
    make_documents,
    read_given,
    read_rows,
    with_scores,
)
from attreval.methods import METHODS
from attreval.methods.method import Budget
from attreval.methods.run import LEAST, count_texts, predict
from attreval.models.classifier import Classifier
from attreval.models.folders import name_classes
from attreval.models.outputs import outputs_of
from attreval.models.scorer import Scorer
from attreval.models.threads import quickest_threads
from attreval.texts.data import Columns
from attreval.texts.given import as_text, make_instances, read_names
from attreval.texts.rows import Row
from attreval.texts.words import classes_of_words

# of every kind one or two that cost at most some hundred evaluations of a text
DEFAULT_METHODS = (
    "gradient_l2",
    "gradient_x_input",
    "integrated_gradients",
    "deeplift",
    "occlusion_1",
    "lime",
    "partition_shap",
    "attention",
    "scaled_attention",
    "lrp",
    "limsse_logit",
)
BUDGET = Budget(
    path_steps=32,
    path_steps_most=512,
    lime_samples=150,
    shap_evaluations=100,
    riemann_steps=16,
    gap_tolerance=LARGE_GAP,  # nodes double while the gap is one that the report speaks of
)
MOST_TOKENS = 512
FIRST = 50  # texts of the first sample; each further one is twice as large
PILOT = 3  # texts that are explained to know how long it takes
HYBRID_SHARE = 0.2  # documents for a text that is explained


def evaluate_texts(
    model: Classifier | str | Path,
    data: str | Path | Mapping[str, Sequence] | pd.DataFrame,
    out: str | Path | None = None,
    *,
    text: str = "text",
    label: str = "label",
    pair: str | None = None,
    rationale: str | None = None,
    split: str | None = None,
    id: str | None = None,
    classes: Sequence[str] = (),
    output: str | int | None = None,
    methods: str | Sequence[str] | None = None,
    attributions: Sequence[str | Path] = (),
    texts: int | None = None,
    seed: int = 0,
    minutes: float = 10.0,
    cores: int | None = None,
    say: Callable[[str], None] | None = None,
) -> Evaluation:
    """Find out which explanation to trust for a model on labelled texts.

    Texts need no label where a model's outputs are no classes (`load`): one of them is explained
    and followed.

    A sample of texts is explained by every method and judged by every metric that the texts allow;
    it grows until the choice of a method is settled, the texts are used up, or a larger sample
    would not end in time. Larger samples ask about their new texts alone.

    Args:
        model: a classifier from `load` or `wrap`, a folder, or a hub name.
        data: a csv, tsv, jsonl, Parquet or ERASER file or folder, a folder of `datasets`, or a
            table in memory.
        out: a folder for the report, made where it is not there; explained texts are kept in it,
            and are taken up by the next call. None keeps nothing.
        text, label, pair, rationale, split, id: names of columns; the rows of the split `test` are
            explained.
        classes: the model's classes in its order, where its outputs are only numbered.
        output: the one that is explained, of outputs that are no classes.
        methods: names, as for `explain`; None takes DEFAULT_METHODS. Random scores are always
            compared.
        attributions: .jsonl or .parquet files of scores made elsewhere; texts without such scores
            are left out.
        texts: texts to draw, at most.
        seed: of the order in which texts are drawn, and of the documents made of them.
        minutes: begin no sample that would not end by then; the first one is made smaller.
        cores: threads to compute with; None takes one or all, whichever is quicker.
        say: is told in words how far it is.

    Raises:
        ValueError: a column, class, output, method or attribution that cannot be used, or a folder
            that is no report's, or to which another call writes.
        OSError: a file or model that is not there.
    """
    begun = time.monotonic()
    say = say or (lambda line: None)
    if texts is not None and texts < 2:
        raise ValueError(f"two texts or more are compared (--texts); got {texts}")
    find_methods(methods or None)  # a wrong name is told before the model is opened
    out = None if out is None else Path(out).expanduser().resolve()
    if out is not None:
        check_report_folder(out)
    if cores:
        torch.set_num_threads(cores)
    say(f"opening {model}" if isinstance(model, str | Path) else "trying the model")
    place, model = open_model(model, classes)
    model = pick_output(model, output)
    outputs = outputs_of(model)
    label = label if outputs == "classes" else ""
    columns = Columns(text, label, pair or None, rationale or None, split or None, id or None)
    rows, dropped = read_rows(data, columns, model.labels, seed)
    given = read_given(attributions, model.labels)
    rows, left_out = with_scores(rows, given, model)
    for why, count in left_out.items():
        say(f"{count} of {len(rows) + left_out.total()} texts are left out: {why}")
    file = Path(data).expanduser() if isinstance(data, (str, Path)) else None
    title = f"{Path(place).name} on {file.name if file else 'a table'}"
    chosen = _pick_methods(methods, model.family, outputs)
    what = f"{len(model.labels)} classes" if outputs == "classes" else f"output {model.labels[0]}"
    say(f"{title}: {len(rows)} texts, {what}, {len(chosen) + len(given)} methods and random scores")
    first = make_instances([row.segments for row in rows[:texts][:FIRST]], model)
    if most := count_texts(model, first, chosen, BUDGET):
        say(
            f"methods ask about at most {most:,} texts to explain the first {len(first)}, and "
            f"metrics and documents about more; calls= leaves {cast(Any, model).service.left:,}"
        )
    seconds = _try_methods(model, rows, chosen, bool(methods) and not asks_for_all(methods), say)
    files = [Path(path).expanduser().resolve() for path in attributions]
    settings = [
        list(seconds),
        BUDGET.model_dump(),
        [hashlib.sha256(path.read_bytes()).hexdigest() for path in files],
    ]
    kept = answers_folder(out / "kept", model, settings) if out else None
    source = Source(
        Judge(model, tuple(seconds), BUDGET, given, say, kept),
        rows[:texts],
        [] if columns.pair or given else make_documents(rows, seed),
    )
    facts = {
        "title": title,
        "labels": model.labels,
        "size": len(rows),
        "dropped": dropped,
        "given": tuple(given),
        "seconds": seconds,
        "max_length": model.max_length,
        "noise": getattr(model, "noise", 0.0),
    }
    said = {
        "model": place,
        "data": str(file.resolve()) if file else None,
        **asdict(columns),
        "classes": list(classes),
        "output": None if outputs == "classes" else model.labels[0],
        "outputs": outputs,
        "methods": list(seconds),
        "attributions": [str(path) for path in files],
        "texts": texts,
        "seed": seed,
        "budget": BUDGET.model_dump(),
    }
    if prompt := getattr(model, "prompt", None):  # a language model's
        said |= {"template": prompt.template, "labels": prompt.words, "chat": prompt.chat}
    threads = nullcontext() if cores else quickest_threads(say)
    with threads, nullcontext() if out is None else hold_folder(out, said):
        return _grow(source, facts, begun + 60 * minutes, out)


@dataclass(frozen=True)
class Source:
    """Where samples come from: rows in the order drawn, and documents, each by its sentences."""

    judge: Judge
    rows: list[Row]
    documents: list[Document]

    def count_missing(self, size: int) -> int:
        """How many of the first `size` texts there is no answer about yet."""
        rows = self.rows[:size]
        names = self.judge.find_names([instance_of_row(row, self.judge.model) for row in rows])
        return sum(name not in self.judge.known for name in names)

    def judge_first(self, size: int) -> tuple[list[Judged], list[Judged]]:
        """The first `size` texts, judged, and the documents that go with them."""
        model = self.judge.model
        instances = [instance_of_row(row, model) for row in self.rows[:size]]
        judged = self.judge.judge(instances, "texts")
        documents = self.documents[: max(1, round(HYBRID_SHARE * size))]
        if not documents:
            return judged, []
        joined = [(" ".join(sentence for sentence, _ in document),) for document in documents]
        mixed = make_instances(joined, model)
        predicted = predict(Scorer(model), [model.tokens(one) for one in mixed]).argmax(axis=1)
        marked = []
        for document, one, k in zip(documents, mixed, predicted, strict=True):
            lies = classes_of_words(document, one.words) == k
            marked.append(replace(one, evidence=Evidence(marks=lies[None].astype(float))))
        return judged, self.judge.judge(marked, "documents made of them", ("pointing",))


def _grow(source: Source, facts: dict, end: float, out: Path | None) -> Evaluation:
    """Judge larger samples until one settles the choice, or no other could in time."""
    say = source.judge.say
    sizes = sample_sizes(len(source.rows))
    last = sizes[-1]
    few = min(TOGETHER, sizes[0])
    at_most = sum(facts["seconds"].values()) * source.count_missing(few)
    say(f"explaining and judging the first {few} texts: about {_minutes(at_most)}")
    each = _seconds_each(*source.judge_first(few))
    size = _fit(source, sizes[0], few, each, end)
    while True:
        seconds = source.count_missing(size) * each
        of_all = _minutes(seconds + (last - size) * each)
        more = f"; all {last} would take about {of_all}" if size < last else ""
        say(f"explaining and judging {size} texts: about {_minutes(seconds)}{more}")
        judged, documents = source.judge_first(size)
        each = _seconds_each(judged, documents)
        found = conclude(judged, documents, source.rows[:size], facts)
        if out is not None:
            write_report(found, out)
        if found.settled or size == last:
            break
        larger = next((n for n in sizes if n > size and 2 * n >= found.needed), None)
        if larger is None:
            say(
                f"not settled on {size} texts; about {found.needed} would be needed, and there "
                f"are {last}"
            )
            break
        seconds = source.count_missing(larger) * each
        if time.monotonic() + seconds > end:
            more = f"{larger} would take {_minutes(seconds)} more, which is beyond --minutes"
            say(f"not settled on {size} texts; {more}: the same command with more of them goes on")
            break
        say(f"not settled on {size} texts; taking {larger}")
        size = larger
    say(str(found))
    if out is not None:
        say(f"report: {out / 'report.html'}")
    return found


def _fit(source: Source, size: int, few: int, each: float, end: float) -> int:
    """How many of the first `size` texts can be judged in time, of which the first few are."""
    left = max(0.0, end - time.monotonic())
    fitting = size
    while fitting > few and source.count_missing(fitting) * each > left:
        fitting = max(few, fitting - TOGETHER)
    if fitting < size:
        source.judge.say(f"{size} texts would take longer than --minutes: {fitting} are judged")
    return fitting


def _seconds_each(judged: Sequence[Judged], documents: Sequence[Judged]) -> float:
    """How long a text with its documents took."""
    return sum(one.seconds for one in [*judged, *documents]) / len(judged)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds))} s"


def sample_sizes(most: int) -> list[int]:
    """FIRST, twice as many, and so on up to `most`."""
    sizes = [FIRST]
    while sizes[-1] * 3 < most:
        sizes.append(sizes[-1] * 2)
    return [size for size in sizes if size < most] + [most]


def open_model(
    model: Classifier | str | Path, classes: Sequence[str] = ()
) -> tuple[str, Classifier]:
    """Where a model is from, and the classifier with the given names of its classes."""
    if isinstance(model, (str, Path)):
        folder = Path(model).expanduser()
        place = str(folder.resolve()) if folder.is_dir() else str(model)
        model = load(place, MOST_TOKENS)
    else:
        check_model(model)
        place = getattr(model, "name", type(model).__name__)
    if classes:
        model = copy(model)
        model.labels = name_classes(tuple(model.labels), read_names(classes), place)
    return place, model


def _pick_methods(
    wanted: str | Sequence[str] | None, family: str, outputs: str = "classes"
) -> tuple[str, ...]:
    """The methods to compare without random scores; where none is wanted, the default ones."""
    if not wanted:
        of_family = [METHODS[name] for name in DEFAULT_METHODS if family in METHODS[name].families]
        return tuple(method.name for method in of_family if not method.missing())
    chosen = tuple(name for name in find_methods(wanted, family, outputs) if name != "random")
    if wrong := [name for name in chosen if METHODS[name].level != "token"]:
        raise ValueError(
            f"{wrong[0]!r} explains pairs or spans, and what is compared here are scores of tokens"
        )
    return chosen


def _try_methods(
    model: Classifier,
    rows: Sequence[Row],
    methods: Sequence[str],
    named: bool,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Seconds a text of common length on one core, by method; what refuses the model is left out.

    named: a method that refuses is an error, since somebody asked for it.
    """
    middle = sorted(rows, key=lambda row: sum(map(len, row.segments)))[len(rows) // 2 :][:PILOT]
    texts = [as_text(row.segments) for row in middle]
    threads = torch.get_num_threads()
    seconds = {}
    torch.set_num_threads(1)
    try:
        for name in methods:
            try:
                explain(model, texts[:1], [name], budget=LEAST)  # libraries are imported here
            except ValueError as error:
                if named:
                    raise ValueError(f"{name} does not explain this model: {error}") from None
                say(f"{name} is left out: {error}")
                continue
            say(f"trying {name}")
            started = time.perf_counter()
            explain(model, texts, [name], budget=BUDGET)
            seconds[name] = (time.perf_counter() - started) / len(texts)
    finally:
        torch.set_num_threads(threads)
    return seconds
