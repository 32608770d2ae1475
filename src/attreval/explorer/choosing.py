"""Which texts does the explorer show, where there are more than a page should hold? As many of each task and run."""

from __future__ import annotations

from collections.abc import Mapping

from attreval.config import Run

MOST = 200  # instances on a page


def take_turns(counts: Mapping[Run, int], most: int = MOST) -> list[tuple[Run, int]]:
    """(run, place in the run's table) of the instances to show, in the order in which they are taken.

    Tasks take turns, and within a task its runs do, each with its next instance, until `most` are taken or none is
    left; tables lie in a random order, so the first instances of a run are a random sample. counts: by run.
    """
    taken = dict.fromkeys(counts, 0)
    tasks: dict[str, list[Run]] = {}
    for run in counts:
        tasks.setdefault(run[0], []).append(run)
    out: list[tuple[Run, int]] = []
    while len(out) < most:
        left = {task: [r for r in runs if taken[r] < counts[r]] for task, runs in tasks.items()}
        left = {task: runs for task, runs in left.items() if runs}
        if not left:
            break
        task = min(left, key=lambda name: sum(taken[r] for r in tasks[name]))  # the first of several as poor
        run = min(left[task], key=taken.get)
        out.append((run, taken[run]))
        taken[run] += 1
    return out
