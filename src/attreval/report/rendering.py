"""How does the site come about? By Quarto where it is installed, else by pandoc: same pages, same sources."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from attreval.core import project
from attreval.report.errors import ReportError
from attreval.report.pandoc_route.pdf import make_pdf
from attreval.report.pandoc_route.site import build, staged_site
from attreval.report.staging import stage
from attreval.report.swap import replace_folder

ROUTES = ("auto", "quarto", "pandoc")
PDF = "paper/attreval.pdf"


def render(profile: str, route: str = "auto") -> Path:
    """Stage a profile's results and render the site; return its folder, `_site` in the project.

    route: `quarto` (needs that program), `pandoc` (always there), or `auto`: Quarto where it is installed.
    The folder changes all at once: a broken run leaves the site that was there.
    """
    if route not in ROUTES:
        raise ReportError(f"unknown route {route!r}; there are: {', '.join(ROUTES)}")
    program = shutil.which("quarto")
    if route == "quarto" and not program:
        raise ReportError(
            "route 'quarto' needs the program `quarto`, which is not on the PATH: install Quarto 1.9 "
            "(the extra `attreval[quarto]` does, where GitHub can be reached), or use route 'pandoc'"
        )
    stage(profile)
    home = project.home()
    with replace_folder(home / "_site") as folder:
        if program and route != "pandoc":
            render_by_quarto(program, home, folder)
        else:
            for address, data in sorted(build(home).items()):
                path = folder / address
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        (folder / PDF).parent.mkdir(exist_ok=True)
        (folder / PDF).write_bytes(paper_as_pdf(home, program if route != "pandoc" else None))
    return home / "_site"


def paper_as_pdf(home: Path, quarto: str | None) -> bytes:
    """The paper as a PDF, by Quarto where its Typst manages, else by pandoc and the Python package of Typst."""
    page = home / "paper" / "index.qmd"
    if quarto:
        with tempfile.TemporaryDirectory(prefix=".pdf", suffix=".part", dir=home) as made:
            command = [quarto, "render", str(page), "--to", "typst", "--output-dir", Path(made).name]
            subprocess.run(command, cwd=home, capture_output=True, check=False)
            if found := sorted(Path(made).rglob("*.pdf")):
                return found[0].read_bytes()
    return make_pdf(staged_site(home), page)


def render_by_quarto(program: str, home: Path, folder: Path) -> None:
    """Let Quarto render the project into a folder inside it."""
    command = [program, "render", str(home), "--output-dir", folder.name]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / "index.html").exists():
        raise ReportError(f"quarto render ended with {done.returncode}:\n{done.stderr.strip()[-4000:]}")
