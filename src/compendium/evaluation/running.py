"""Evaluate: check model and data, say how long it takes, run the workflow on growing samples, write the page."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import yaml

from attreval.core.tables import write_whole
from attreval.methods.applicable import LEAST
from attreval.methods.method import Budget
from compendium import project
from compendium.evaluation.asked import BUDGETS, HYBRID_SENTENCES, MOST_TOKENS, NAME, Asked, pick_methods, profile_of
from compendium.evaluation.given import with_attributions
from compendium.workflow.machine import count_processors

FIRST = 50  # texts of the first sample; each further one is twice as large
PILOT = 3  # texts that are explained to know how long it takes
JOINT_SHARE = 0.6  # time that the metrics ask for, as a share of what explaining takes
MARKER = "about-this-folder.txt"
MARK_TEXT = """Written by `attreval evaluate`: report.html is the report, explorer.html shows every text.
All here but this file is replaced when the command runs again with this folder as --out.
"""
STEP_SECONDS = 45.0  # of the processes of a round, whatever the number of texts


def evaluate_own(
    model: str,
    data: Path | str,
    columns: dict[str, str],
    out: Path | str,
    methods: Sequence[str] = (),
    attributions: Sequence[Path | str] = (),
    most: int | None = None,
    labels: Sequence[str] = (),
    cores: int | None = None,
    minutes: float = 10.0,
    say: Callable[[str], None] = print,
) -> Path:
    """The page that says which explanation to trust for a model on a table of texts; see page.write_report.

    model: a folder, or a hub name. columns: text, label, and where there are such pair, rationale, split, id -> name of
    the column. out: a folder, made where it is not there; results lie in `run` below it, and are taken up again.
    methods: to compare, by name. attributions: files of what was made elsewhere. most: texts, at most. labels: class
    names in the model's order, where its configuration has none. minutes: no larger sample is begun that would not end
    by then. Raises ValueError or OSError for what cannot be used.
    """
    from compendium.evaluation.page import write_report

    out = Path(out).expanduser().resolve()
    check_folder(out)
    if most is not None and most < 2:
        raise ValueError(f"--texts is at least 2; got {most}")
    asked = examine(model, Path(data), columns, methods, attributions, labels, out, say)
    claim_folder(out)
    most, cores = min(asked.size, most or asked.size), cores or count_processors()
    sizes, begun = sample_sizes(most), time.monotonic()
    with results_in(out):
        for texts, larger in zip(sizes, [*sizes[1:], None], strict=True):
            say(announce(texts, most, sum(asked.seconds.values()), cores))
            started = time.monotonic()
            run_round(asked, texts, out, cores)
            page, ended = write_report(asked, out, texts), time.monotonic()
            choice = pd.read_csv(project.results(NAME).table("choice", "08_joint"))
            if larger is None or bool(choice[choice.recommended].settled.all()):
                break
            needed = (ended - begun + (ended - started) * larger / texts) / 60
            if needed > minutes:
                say(
                    f"the choice is not settled on {texts} texts; {larger} would make it {needed:.0f} min in all, and "
                    f"--minutes is {minutes:g}: the same command with more minutes goes on"
                )
                break
            say(f"the choice is not settled on {texts} texts; taking more")
    say(f"report: {page}")
    return page


def check_folder(out: Path) -> None:
    """ValueError for a folder of a report that holds what no report has left: nothing of anybody's is overwritten."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out is a folder for the report; {out} is a file")
    if out.is_dir() and not (out / MARKER).exists() and (found := sorted(path.name for path in out.iterdir())):
        raise ValueError(
            f"--out {out} holds {found[0]}{f' and {len(found) - 1} more' if found[1:] else ''}, and is no folder of a "
            f"report ({MARKER}): tables, notebooks and pages are replaced there, so name a new folder"
        )


def claim_folder(out: Path) -> None:
    """Make the folder of a report, and say in it whose it is."""
    out.mkdir(parents=True, exist_ok=True)
    with write_whole(out / MARKER) as part:
        part.write_text(MARK_TEXT, encoding="utf-8")


@contextmanager
def results_in(out: Path):
    """While it lasts, results lie below a folder of the user's."""
    before = os.environ.get("ATTREVAL_RESULTS")
    os.environ["ATTREVAL_RESULTS"] = str(out)
    try:
        yield
    finally:
        if before is None:
            del os.environ["ATTREVAL_RESULTS"]
        else:
            os.environ["ATTREVAL_RESULTS"] = before


def sample_sizes(most: int) -> list[int]:
    """FIRST, twice as many, and so on up to `most`."""
    sizes = [FIRST]
    while sizes[-1] * 3 < most:
        sizes.append(sizes[-1] * 2)
    return [size for size in sizes if size < most] + [most]


def announce(texts: int, most: int, seconds: float, cores: int) -> str:
    """How long the next sample takes, and how long all would."""
    now, all_texts = (STEP_SECONDS + n * seconds * (1 + JOINT_SHARE) / min(cores, 2) for n in (texts, most))
    more = f"; all {most} would take {_minutes(all_texts)}" if most > texts else ""
    return f"explaining and judging {texts} texts: {_minutes(now)}{more}"


def _minutes(seconds: float) -> str:
    return f"about {max(1, round(seconds / 60))} min"


def run_round(asked: Asked, texts: int, out: Path, cores: int | None) -> None:
    """Write the profile for so many texts, and run the workflow up to the joint study."""
    from compendium.workflow.run_snakemake import run_workflow

    path = out / "profile.yaml"
    with write_whole(path) as part:
        head = "# Written by `attreval evaluate`; `attreval run --profile` runs the rest of the notebooks on it.\n"
        part.write_text(head + yaml.safe_dump(profile_of(asked, texts), sort_keys=False), encoding="utf-8")
    notebooks = project.results(NAME)
    run_workflow(str(path), cores, targets=[str(notebooks.executed("08_joint")), str(notebooks.record("08_joint"))])


def examine(
    model: str,
    data: Path,
    columns: dict[str, str],
    methods: Sequence[str],
    attributions: Sequence[Path | str],
    labels: Sequence[str],
    out: Path,
    say: Callable[[str], None],
) -> Asked:
    """What is asked, checked.

    Raises ValueError or OSError for a model, a table, methods or attributions that cannot be used.
    """
    from attreval.api.loading import load
    from attreval.api.method_names import asks_for_all, find_methods
    from attreval.models.class_names import name_classes

    find_methods(list(methods) or None)  # a wrong name is told before the model is opened
    loaded = load(model)
    if loaded.family != "transformer":
        raise ValueError(
            f"{model} is a {loaded.family} model of words that was trained here; a profile evaluates it: `attreval run`"
        )
    found = pick_methods(find_methods(list(methods), loaded.family) if methods else (), loaded.family)
    folder = Path(model).expanduser()
    classes = name_classes(tuple(loaded.labels), labels, model) if labels else tuple(loaded.labels)
    rows, columns, dropped = read_rows(data, columns, classes)
    asked = Asked(
        model=str(folder.resolve()) if folder.is_dir() else model,
        data=data.expanduser().resolve(),
        columns=columns,
        labels=classes,
        methods=found,
        max_length=min(loaded.max_length, MOST_TOKENS),
        size=len(rows),
        dropped=dropped,
    )
    if attributions:
        claim_folder(out)
        asked, rows = with_attributions(asked, attributions, loaded, rows, out, say)
    asked = replace(asked, hybrid=0 if "pair" in columns else count_documents(rows))
    say(
        f"{asked.title}: {len(rows)} texts, {len(classes)} classes, "
        f"{len(found) + len(asked.given)} methods and random scores"
    )
    seconds, refused = try_methods(loaded, rows, found)
    for name, why in refused.items():
        if methods and not asks_for_all(methods):
            raise ValueError(f"{name} does not explain this model: {why}")
        say(f"{name} is left out: {why}")
    return replace(asked, methods=tuple(seconds), seconds=seconds)


def read_rows(data: Path, columns: dict[str, str], classes: Sequence[str]):
    """The rows that can be explained, the columns, and why others cannot be -> how many.

    FileNotFoundError, ValueError: see corpora.own_data.
    """
    from attreval.texts.data import Columns, read_own_data
    from attreval.texts.rows import Counts

    columns = {name: column for name, column in columns.items() if column}
    counts = Counts()
    rows = read_own_data(data.expanduser().resolve(), Columns(**columns), classes, counts)
    return [row for row in rows if row.split == "test"], columns, dict(counts.dropped)


def count_documents(rows) -> int:
    """How many hybrid documents the texts give, at least; none where one class has all."""
    return len(rows) // HYBRID_SENTENCES if len({row.label for row in rows}) > 1 else 0


def try_methods(loaded, rows, methods: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Method -> seconds that it takes for a text of common length on one core; method -> why it refuses the model."""
    import torch

    from attreval.api.explaining import explain

    middle = sorted(rows, key=lambda row: sum(map(len, row.segments)))[len(rows) // 2 :][:PILOT]
    texts = [row.segments if len(row.segments) > 1 else row.segments[0] for row in middle]
    threads, seconds, refused = torch.get_num_threads(), {}, {}
    torch.set_num_threads(1)
    try:
        for name in methods:
            try:
                explain(loaded, texts[:1], [name], budget=LEAST)  # libraries are imported here
            except ValueError as error:
                refused[name] = str(error)
                continue
            started = time.perf_counter()
            explain(loaded, texts, [name], budget=Budget(**BUDGETS))
            seconds[name] = (time.perf_counter() - started) / len(texts)
    finally:
        torch.set_num_threads(threads)
    return seconds, refused
