"""How does a library that wants to call the model take part in a conversation? In a thread that waits while it asks.

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

from attreval.models.questions import Conversation, Question

Work = Callable[[Callable[[Question], Any]], Any]


class Abandoned(BaseException):
    """Raised inside the library's call when the conversation has ended without it."""


def converse_by_calls(work: Work, rng: np.random.Generator) -> Conversation:
    """The conversation of `work(ask)`, a call that puts its questions by calling `ask`; returns what `work` returns.

    rng: seeds what `work` draws from NumPy's global generator; nobody else's draws move. An exception in `work` is
    raised here, and one that ends the conversation ends the thread too.
    """
    said, heard = SimpleQueue(), SimpleQueue()
    thread = Thread(target=run, args=(work, said, heard), daemon=True)
    own = np.random.RandomState(rng.integers(2**32)).get_state()
    try:
        with global_draws(own) as after:
            thread.start()
            kind, value = said.get()
        while kind == "asks":
            answer = yield value
            with global_draws(after[0]) as after:
                heard.put(answer)
                kind, value = said.get()
    finally:
        if thread.is_alive():
            heard.put(Abandoned())
            thread.join()
    if kind == "raises":
        raise value
    return value


def run(work: Work, said: SimpleQueue, heard: SimpleQueue) -> None:
    """The library's side: do the work, say what it asks, what it ends with, or what it raises."""

    def ask(question: Question) -> Any:
        said.put(("asks", question))
        answer = heard.get()
        if isinstance(answer, Abandoned):
            raise answer
        return answer

    try:
        said.put(("returns", work(ask)))
    except Abandoned:
        pass
    except BaseException as error:
        said.put(("raises", error))


@contextmanager
def global_draws(state: tuple) -> Iterator[list[tuple]]:
    """Let NumPy's global generator go on from `state` inside the block; gives a list for where it got to."""
    outside, after = np.random.get_state(), []  # noqa: NPY002 - that is where libraries draw
    np.random.set_state(state)  # noqa: NPY002 - that is where libraries draw
    try:
        yield after
    finally:
        after.append(np.random.get_state())  # noqa: NPY002
        np.random.set_state(outside)  # noqa: NPY002 - that is where libraries draw
