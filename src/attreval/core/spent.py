"""Processor seconds beside a file, that who takes the file up again knows what it took to make."""

from __future__ import annotations

from pathlib import Path

from attreval.core.tables import write_whole


def note_seconds(path: Path, seconds: float) -> None:
    """Write beside a file how many processor seconds it took."""
    with write_whole(_note(path)) as part:
        part.write_text(f"{seconds}", encoding="utf-8")


def seconds_of(path: Path) -> float:
    """Processor seconds that a file took to make; 0 where it is not there, or nobody has noted them."""
    note = _note(path)
    return float(note.read_text(encoding="utf-8")) if path.exists() and note.exists() else 0.0


def _note(path: Path) -> Path:
    """Where it stands what a file took."""
    return path.with_suffix(".seconds")
