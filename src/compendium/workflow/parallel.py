"""Work of one step side by side in several processes: the same numbers as one after the other, only sooner.

Each process runs the threads that the profile fixes, so that no sum is taken in another order.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from compendium.config import make_known
from compendium.workflow.processes import end_with_parent


def map_side_by_side(
    work: Callable[..., Any],
    jobs: Sequence[tuple],
    workers: int,
    notify: Callable[[int, int], None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Any]:
    """What `work(*job)` gives for each job, in order. `work` is a function of a module.

    notify: called with (jobs done, of). settings: of the profile, whose own corpora and attributions every process is
    to know.
    """
    if workers == 1:
        return _collect((work(*job) for job in jobs), len(jobs), notify)
    # forks of a server that has imported what the work needs, and runs no threads whose locks they could inherit
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(sorted({part.__module__ for part in (work, *jobs[0]) if callable(part)}))
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(settings or {},)) as pool:
        futures = [pool.submit(work, *job) for job in jobs]
        return _collect((future.result() for future in futures), len(jobs), notify)


def _begin(settings: Mapping[str, Any]) -> None:
    """What every process does first."""
    end_with_parent()
    make_known(settings)


def _collect(found: Iterable[Any], of: int, notify: Callable[[int, int], None] | None) -> list[Any]:
    """All that is found, in order; calling notify(done, of) after each."""
    results = []
    for result in found:
        results.append(result)
        if notify:
            notify(len(results), of)
    return results
