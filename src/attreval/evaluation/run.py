"""Which explanation to trust for one's own model and texts: growing samples, explained and judged until one leads."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attreval.api.explaining import explain
from attreval.api.loading import check_model, load
from attreval.api.method_names import asks_for_all, find_methods
from attreval.api.texts import as_text, make_instances
from attreval.core.tables import write_whole
from attreval.evaluation.findings import Evaluation, conclude
from attreval.evaluation.judged import Question, judge, keep_in
from attreval.evaluation.sample import make_documents, make_instance, read_given, read_rows, with_scores
from attreval.methods import METHODS
from attreval.methods.applicable import LEAST
from attreval.methods.method import Budget
from attreval.methods.run import predict
from attreval.models.class_names import name_classes
from attreval.models.classifier import Classifier
from attreval.models.scorer import Scorer
from attreval.texts.data import Columns
from attreval.texts.hybrid import classes_of_words
from attreval.texts.rows import Row

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_METHODS = (  # of every kind one or two that cost at most some hundred evaluations of a text
    *("gradient_l2", "gradient_x_input", "integrated_gradients", "deeplift", "occlusion_1", "lime", "partition_shap"),
    *("attention", "scaled_attention", "lrp", "limsse_logit"),
)
# a path of fixed nodes: what integrated gradients miss is said in the report, and stops no other method
BUDGET = Budget(path_steps=32, path_steps_most=32, lime_samples=150, shap_evaluations=100, riemann_steps=16)
MOST_TOKENS = 512
FIRST = 50  # texts of the first sample; each further one is twice as large
PILOT = 3  # texts that are explained to know how long it takes
JUDGING = 0.6  # time that the metrics ask for, as a share of what explaining takes
HYBRID_SHARE = 0.2  # documents for a text that is explained
PAUSE = 3.0  # seconds between two lines of progress
MARKER = "about-this-folder.txt"
MARK_TEXT = """Written by `attreval evaluate`: report.html is the report, texts.html shows texts in colour.
All here but this file is replaced when the command runs again with this folder as --out; what `kept` holds of
explained texts is taken up again.
"""


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
    methods: str | Sequence[str] | None = None,
    attributions: Sequence[str | Path] = (),
    texts: int | None = None,
    minutes: float = 10.0,
    cores: int | None = None,
    say: Callable[[str], None] | None = None,
) -> Evaluation:
    """Find out which explanation to trust for a model on labelled texts: what `attreval evaluate` does.

    A sample of texts is explained by every method and judged by every metric that the texts allow; it grows until
    the choice of a method is settled, the texts are used up, or a larger sample would not end in time. Larger samples
    ask about their new texts alone.

    Args:
        model: a classifier from `load` or `wrap`, a folder, or a hub name.
        data: a csv, tsv, jsonl, Parquet or ERASER file or folder, a folder of `datasets`, or a table in memory.
        out: a folder for the report, made where it is not there; explained texts are kept in it, and are taken up by
            the next call. None keeps nothing.
        text, label, pair, rationale, split, id: names of columns; the rows of the split `test` are explained.
        classes: the model's classes in its order, where its outputs are only numbered.
        methods: names, as for `explain`; None takes DEFAULT_METHODS. Random scores are always compared.
        attributions: .jsonl or .parquet files of scores made elsewhere; texts without such scores are left out.
        texts: texts to draw, at most.
        minutes: begin no larger sample that would not end by then.
        cores: threads to compute with.
        say: is told in words how far it is.

    Raises:
        ValueError: a column, class, method or attribution that cannot be used, or a folder that is no report's.
        OSError: a file or model that is not there.
    """
    begun, say = time.monotonic(), say or (lambda line: None)
    if texts is not None and texts < 2:
        raise ValueError(f"two texts or more are compared (--texts); got {texts}")
    find_methods(methods or None)  # a wrong name is told before the model is opened
    out = None if out is None else Path(out).expanduser().resolve()
    if out is not None:
        check_folder(out)
    if cores:
        import torch

        torch.set_num_threads(cores)
    columns = Columns(text, label, pair or None, rationale or None, split or None, id or None)
    place, model = _open(model, classes)
    rows, dropped = read_rows(data, columns, model.labels)
    given = read_given(attributions, model.labels)
    rows, left_out = with_scores(rows, given, model)
    for why, count in left_out.items():
        say(f"{count} of {len(rows) + sum(left_out.values())} texts are left out: {why}")
    title = f"{Path(place).name} on {Path(data).name if isinstance(data, (str, Path)) else 'a table'}"
    chosen = _pick_methods(methods, model.family)
    say(
        f"{title}: {len(rows)} texts, {len(model.labels)} classes, {len(chosen) + len(given)} methods and random scores"
    )
    seconds = _try_methods(model, rows, chosen, bool(methods) and not asks_for_all(methods), say)
    files = [hashlib.sha256(Path(path).expanduser().read_bytes()).hexdigest() for path in attributions]
    settings = [list(seconds), BUDGET.model_dump(), files]
    question = Question(model, tuple(seconds), BUDGET, given, None, keep_in(out and out / "kept", model, settings))
    if out is not None:
        claim_folder(out)
        prompt = getattr(model, "prompt", None)
        _write_settings(out, place, prompt, data, columns, classes, tuple(seconds), attributions, texts)
    documents = [] if columns.pair or given else make_documents(rows)
    facts = {"title": title, "labels": model.labels, "size": len(rows), "dropped": dropped, "given": tuple(given)}
    facts |= {"seconds": seconds, "max_length": model.max_length}
    sizes = sample_sizes(min(len(rows), texts or len(rows)))
    done = 0
    for size, larger in zip(sizes, [*sizes[1:], None], strict=True):
        say(_announce(size, sizes[-1], sum(seconds.values()), done))
        started = time.monotonic()
        found = _judge_sample(question, rows[:size], documents[: max(1, round(HYBRID_SHARE * size))], facts, say)
        if out is not None:
            from attreval.evaluation.page import write_report

            write_report(found, out)
        ended = time.monotonic()
        if larger is None or found.settled:
            break
        needed = (ended - begun + (ended - started) / (size - done) * (larger - size)) / 60
        if needed > minutes:
            say(
                f"the choice is not settled on {size} texts; {larger} would make it {needed:.0f} min in all, and "
                f"--minutes is {minutes:g}: the same command with more minutes goes on"
            )
            break
        say(f"the choice is not settled on {size} texts; taking more")
        done = size
    if out is not None:
        say(f"report: {out / 'report.html'}")
    return found


def sample_sizes(most: int) -> list[int]:
    """FIRST, twice as many, and so on up to `most`."""
    sizes = [FIRST]
    while sizes[-1] * 3 < most:
        sizes.append(sizes[-1] * 2)
    return [size for size in sizes if size < most] + [most]


def check_folder(out: Path) -> None:
    """ValueError for a folder of a report that holds what no report has left: nothing of anybody's is overwritten."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out is a folder for the report; {out} is a file")
    if out.is_dir() and not (out / MARKER).exists() and (found := sorted(path.name for path in out.iterdir())):
        raise ValueError(
            f"--out {out} holds {found[0]}{f' and {len(found) - 1} more' if found[1:] else ''}, and is no folder of a "
            f"report ({MARKER}): files are replaced there, so name a new folder"
        )


def claim_folder(out: Path) -> None:
    """Make the folder of a report, and say in it whose it is."""
    with write_whole(out / MARKER) as part:
        part.write_text(MARK_TEXT, encoding="utf-8")


def _open(model: Classifier | str | Path, classes: Sequence[str]) -> tuple[str, Classifier]:
    """(where it is from, classifier with the given names of its classes)."""
    if isinstance(model, (str, Path)):
        folder = Path(model).expanduser()
        place = str(folder.resolve()) if folder.is_dir() else str(model)
        model = load(place, MOST_TOKENS)
    else:
        check_model(model)
        place = getattr(model, "name", type(model).__name__)
    if classes:
        model = copy(model)
        model.labels = name_classes(tuple(model.labels), classes, place)
    return place, model


def _pick_methods(wanted: str | Sequence[str] | None, family: str) -> tuple[str, ...]:
    """The methods to compare, random scores left out; those of DEFAULT_METHODS that apply where none is wanted."""
    if not wanted:
        return tuple(name for name in DEFAULT_METHODS if family in METHODS[name].families)
    chosen = tuple(name for name in find_methods(wanted, family) if name != "random")
    if wrong := [name for name in chosen if METHODS[name].level != "token"]:
        raise ValueError(f"{wrong[0]!r} explains pairs or spans, and what is compared here are scores of tokens")
    return chosen


def _try_methods(
    model: Classifier, rows: Sequence[Row], methods: Sequence[str], named: bool, say: Callable[[str], None]
) -> dict[str, float]:
    """Method -> seconds that it takes for a text of common length on one core; ones that refuse the model are left out.

    named: a method that refuses is an error, since somebody asked for it.
    """
    import torch

    middle = sorted(rows, key=lambda row: sum(map(len, row.segments)))[len(rows) // 2 :][:PILOT]
    texts = [as_text(row.segments) for row in middle]
    threads, seconds = torch.get_num_threads(), {}
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
            started = time.perf_counter()
            explain(model, texts, [name], budget=BUDGET)
            seconds[name] = (time.perf_counter() - started) / len(texts)
    finally:
        torch.set_num_threads(threads)
    return seconds


def _judge_sample(
    question: Question, rows: list[Row], documents: list, facts: dict, say: Callable[[str], None]
) -> Evaluation:
    """Explain and judge a sample of texts, and the documents that go with it."""
    instances = [make_instance(row) for row in rows]
    marks = [one.evidence.marks if len(one.evidence.marks) else None for one in instances]
    judged = judge(question, instances, marks, _progress(say, "texts"))
    made = []
    if documents:
        mixed = make_instances([(text,) for text, _ in documents])
        tokens = [question.model.tokens(one) for one in mixed]
        predicted = predict(Scorer(question.model), tokens).argmax(axis=1)
        lies = [
            (classes_of_words(chosen, one.words) == k)[None].astype(float)
            for (_, chosen), one, k in zip(documents, mixed, predicted, strict=True)
        ]
        of_documents = replace(question, metrics=("pointing",))
        made = judge(of_documents, mixed, lies, _progress(say, "documents made of them"))
    return conclude(judged, made, rows, facts)


def _progress(say: Callable[[str], None], what: str) -> Callable[[int, int], None]:
    """What says every few seconds how many are done."""
    last = time.monotonic()

    def notify(done: int, of: int) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= PAUSE:
            last = now
            say(f"{done} of {of} {what} explained and judged")

    return notify


def _announce(texts: int, most: int, seconds: float, done: int) -> str:
    """How long the next sample takes at most, and how long all would."""
    now, all_texts = ((n - done) * seconds * (1 + JUDGING) / 60 for n in (texts, most))
    more = f"; all {most} would take about {max(1, round(all_texts))} min" if most > texts else ""
    return f"explaining and judging {texts} texts: about {max(1, round(now))} min{more}"


def _write_settings(
    out: Path,
    model: str,
    prompt: Any,
    data: str | Path | Mapping[str, Sequence] | pd.DataFrame,
    columns: Columns,
    classes: Sequence[str],
    methods: Sequence[str],
    attributions: Sequence[str | Path],
    texts: int | None,
) -> None:
    """Write the arguments that the same evaluation is asked for with, and what methods may spend."""
    place = lambda path: str(Path(path).expanduser().resolve())  # noqa: E731
    said = {
        "model": model,
        "data": place(data) if isinstance(data, (str, Path)) else None,
        **asdict(columns),
        "classes": list(classes),
        "methods": list(methods),
        "attributions": [place(path) for path in attributions],
        "texts": texts,
        "budget": BUDGET.model_dump(),
    }
    if prompt:  # a language model's
        said |= {"template": prompt.template, "labels": prompt.words, "chat": prompt.chat}
    with write_whole(out / "settings.json") as part:
        part.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
