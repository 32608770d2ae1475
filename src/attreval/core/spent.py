"""A sidecar with the processor seconds a file took to make, so that a resumed step reports its full cost."""

from __future__ import annotations

from pathlib import Path

from attreval.core.tables import write_whole


def note_seconds(path: Path, seconds: float) -> None:
    """Write the processor seconds that a file took to its sidecar."""
    with write_whole(_note(path)) as part:
        part.write_text(f"{seconds}", encoding="utf-8")


def seconds_of(path: Path) -> float:
    """Processor seconds that a file took to make; 0 if the file or its sidecar is missing."""
    note = _note(path)
    return float(note.read_text(encoding="utf-8")) if path.exists() and note.exists() else 0.0


def _note(path: Path) -> Path:
    """Path of the sidecar."""
    return path.with_suffix(".seconds")
