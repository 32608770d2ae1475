"""Side by side gives what one after the other gives, in order, and passes errors on."""

from __future__ import annotations

import math
import os

import pytest

from compendium.workflow.parallel import map_side_by_side


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers):
    seen = []
    jobs = [(n, 2) for n in (5, 1, 4, 2, 3)]
    found = map_side_by_side(math.pow, jobs, workers, lambda done, of: seen.append((done, of)))
    assert found == [25, 1, 16, 4, 9]
    assert seen == [(n, 5) for n in range(1, 6)]


def test_several_workers_are_other_processes():
    assert os.getpid() not in map_side_by_side(os.getpid, [(), ()], 2)
    assert set(map_side_by_side(os.getpid, [(), ()], 1)) == {os.getpid()}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_job_is_raised(workers):
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        map_side_by_side(math.sqrt, [(1.0,), (-1.0,)], workers)
