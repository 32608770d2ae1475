"""How many threads answer quickest: one, or all that torch would take.

On a quiet machine all; beside other work threads that have no core let the others wait for them,
and one is often many times quicker. Both are timed on a batch that is asked anyway: at the start,
and again when batches become much slower than they were.
"""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

Answer = TypeVar("Answer")
SLOWER = 2.5  # times the seconds a token that a batch took at best: something else has changed
PAUSE = 20  # a comparison is made again after so many times what the last one took


class Threads:
    """The number of threads of this process, for batches on a processor.

    Args:
        say: Is told in words when it changes.
    """

    def __init__(self, say: Callable[[str], None] | None):
        self.most = torch.get_num_threads()
        self.say = say or (lambda line: None)
        self.best: dict[Hashable, float] = {}  # seconds a token, by kind of question
        self.waits = 0.0  # until then nothing is compared again

    def run(self, kind: Hashable, tokens: int, work: Callable[[], Answer]) -> Answer:
        """What `work` gives, by the quicker number of threads.

        Args:
            kind: Batches of one kind take about as long for each token.
            tokens: Of the batch, padding included.
            work: Runs the batch; it may be run several times.
        """
        begun = time.perf_counter()
        answer = work()
        each = (time.perf_counter() - begun) / max(1, tokens)
        slow = not self.best or each > SLOWER * self.best.get(kind, each)
        if slow and self.most > 1 and time.perf_counter() >= self.waits:
            each = self._compare(work) / max(1, tokens)
            self.best = {kind: each}  # of other kinds it is found out anew
        self.best[kind] = min(each, self.best.get(kind, each))
        return answer

    def _compare(self, work: Callable[[], object]) -> float:
        """Time a batch by one thread and by all, keep the quicker; return its seconds."""
        begun = time.perf_counter()
        before = torch.get_num_threads()
        seconds = {}
        for threads in (1, self.most):
            torch.set_num_threads(threads)
            start = time.perf_counter()
            work()
            seconds[threads] = time.perf_counter() - start
        quicker = min(seconds, key=seconds.__getitem__)
        torch.set_num_threads(quicker)
        if quicker != before:
            said = {1: "one thread is", self.most: f"{self.most} threads are"}[quicker]
            self.say(f"{said} quicker than {before} on this machine now")
        now = time.perf_counter()
        self.waits = now + PAUSE * (now - begun)
        return seconds[quicker]


_active: list[Threads] = []


@contextmanager
def quickest_threads(say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Meanwhile batches on a processor take one thread or all, whichever is quicker.

    Args:
        say: Is told in words when that changes.
    """
    if _active:  # another call has begun to see to it
        yield
        return
    chosen = Threads(say)
    _active.append(chosen)
    try:
        yield
    finally:
        _active.remove(chosen)
        torch.set_num_threads(chosen.most)


def run_timed(
    device: torch.device | str, kind: Hashable, tokens: int, work: Callable[[], Answer]
) -> Answer:
    """What `work` gives, see `Threads.run`; as it is where nobody sees to threads."""
    if not _active or torch.device(device).type != "cpu":
        return work()
    return _active[0].run(kind, tokens, work)
