"""Quarto: the site and the PDF by the program of that name, where it is installed."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from compendium.site.errors import ReportError


def render_site(program: str, home: Path, folder: Path) -> None:
    """Let Quarto render the project into a folder inside it. ReportError with what it says where it fails."""
    command = [program, "render", str(home), "--output-dir", folder.name]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / "index.html").exists():
        raise ReportError(f"quarto render ended with {done.returncode}:\n{done.stderr.strip()[-4000:]}")


def render_pdf(program: str, home: Path, page: Path) -> bytes | None:
    """A page as a PDF; None where Quarto's Typst does not manage."""
    with tempfile.TemporaryDirectory(prefix=".pdf", suffix=".part", dir=home) as made:
        command = [program, "render", str(page), "--to", "typst", "--output-dir", Path(made).name]
        subprocess.run(command, cwd=home, capture_output=True, check=False)
        found = sorted(Path(made).rglob("*.pdf"))
        return found[0].read_bytes() if found else None
