"""Errors in the text's sources: with the file, the line and what would work."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ReportError(ValueError):
    """A page, a table declaration or a result that the text needs is missing or malformed."""


def hint(asked: str, known: Iterable[str], most: int = 12) -> str:
    """The end of a sentence: near names first if there are any, then the names that exist."""
    names = sorted(set(known))
    near = difflib.get_close_matches(asked, names, 3, 0.5)
    listed = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}there are: {listed}" if names else "there are none"
