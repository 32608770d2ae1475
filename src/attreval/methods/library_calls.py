"""Conversations of libraries that call the model themselves: the library runs in a thread that waits while it asks.

Only one of the two ever runs: the conversation waits for the library's next question, the library for its answer. So
what the library draws from NumPy's global generator can be its own, whoever else is talking to the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from attreval.methods.method import Rng
from attreval.models.questions import Conversation, Question

Work = Callable[[Callable[[Question], Any]], Any]


class _Abandoned(BaseException):
    """Raised inside the library's call when the conversation has ended without it."""


def converse_by_calls(work: Work, rng: Rng) -> Conversation:
    """The conversation of `work(ask)`, a call that puts its questions by calling `ask`; returns what `work` returns.

    rng: seeds what `work` draws from NumPy's global generator; nobody else's draws move. An exception in `work` is
    raised here, and one that ends the conversation ends the thread too.
    """
    requests: SimpleQueue = SimpleQueue()
    replies: SimpleQueue = SimpleQueue()
    thread = Thread(target=_run_library, args=(work, requests, replies), daemon=True)
    own = np.random.RandomState(rng.integers(2**32)).get_state()
    try:
        with _global_draws(own) as after:
            thread.start()
            kind, value = requests.get()
        while kind == "asks":
            answer = yield value
            with _global_draws(after[0]) as after:
                replies.put(answer)
                kind, value = requests.get()
    finally:
        if thread.is_alive():
            replies.put(_Abandoned())
            thread.join()
    if kind == "raises":
        raise value
    return value


def _run_library(work: Work, requests: SimpleQueue, replies: SimpleQueue) -> None:
    """The library's side: do the work, and report what it asks, returns or raises."""

    def ask(question: Question) -> Any:
        requests.put(("asks", question))
        answer = replies.get()
        if isinstance(answer, _Abandoned):
            raise answer
        return answer

    try:
        requests.put(("returns", work(ask)))
    except _Abandoned:
        pass
    except BaseException as error:
        requests.put(("raises", error))


@contextmanager
def _global_draws(state: Any) -> Iterator[list[Any]]:
    """Let NumPy's global generator go on from `state` inside the block; gives a list for where it got to."""
    after: list[Any] = []
    outside = np.random.get_state()  # noqa: NPY002 - that is where libraries draw
    np.random.set_state(state)  # noqa: NPY002 - that is where libraries draw
    try:
        yield after
    finally:
        after.append(np.random.get_state())  # noqa: NPY002
        np.random.set_state(outside)  # noqa: NPY002 - that is where libraries draw
