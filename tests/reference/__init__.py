"""Slow twins of methods and measures, close to their definitions, and the models they are compared
on.
"""

import os
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported: no test asks a hub
CHECKOUT = Path(__file__).resolve().parents[2]  # the project that the tests belong to


@contextmanager
def case(*of):
    """One of several cases of a test; an exception in it says which it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: {', '.join(map(str, of))}")
        raise
