"""Work of one step side by side in several processes: the same numbers as one after the other, only sooner.

Each process runs the threads that the profile fixes, so that no sum is taken in another order.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from attreval.running import die_with_parent


def map_side_by_side(
    work: Callable[..., Any], jobs: Sequence[tuple], workers: int, notify: Callable[[int, int], None] | None = None
) -> list[Any]:
    """What `work(*job)` gives for each job, in order. `work` is a function of a module.

    notify: called with (jobs done, of).
    """
    results = []
    if workers == 1 or len(jobs) == 1:
        for job in jobs:
            results.append(work(*job))
            if notify:
                notify(len(results), len(jobs))
        return results
    # spawned, not forked: a forked child inherits locks of libraries that run threads
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=die_with_parent) as pool:
        for future in [pool.submit(work, *job) for job in jobs]:
            results.append(future.result())
            if notify:
                notify(len(results), len(jobs))
    return results
