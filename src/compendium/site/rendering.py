"""The site, by Quarto where it is installed, else by pandoc: same pages, same sources. The PDF is always by pandoc."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from compendium import project
from compendium.project import Results, replace_folder
from compendium.site.markdown import ReportError
from compendium.site.pandoc_route.pdf import make_pdf
from compendium.site.pandoc_route.site import build, staged_site
from compendium.site.staging import stage

ROUTES = ("auto", "quarto", "pandoc")
PDF = "paper/attreval.pdf"
# A page that is opened as a file may load none; without them it works the same wherever it lies.
MODULES = re.compile(rb'<script\b[^>]*\btype="module"[^>]*></script>\s*')


def render(profile: str, route: str = "auto", results: Results | None = None) -> Path:
    """Stage a profile's results and render the site; return its folder, `_site` in the project.

    results: those of `results/<profile>` where not given.

    route: `quarto` (needs that program), `pandoc` (always there), or `auto`: Quarto where it is installed.
    The folder changes all at once: a broken run leaves the site that was there.
    """
    if route not in ROUTES:
        raise ReportError(f"unknown route {route!r}; there are: {', '.join(ROUTES)}")
    quarto = None if route == "pandoc" else shutil.which("quarto")
    if route == "quarto" and not quarto:
        raise ReportError(
            "route 'quarto' needs the program `quarto`, which is not on the PATH: install Quarto 1.9 "
            "(the extra `attreval[quarto]` does, where GitHub can be reached), or use route 'pandoc'"
        )
    stage(profile, results)
    home = project.home()
    with replace_folder(home / "_site") as folder:
        if quarto:
            _render_site(quarto, home, folder)
        else:
            for address, data in sorted(build(home).items()):
                path = folder / address
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        (folder / PDF).parent.mkdir(exist_ok=True)
        (folder / PDF).write_bytes(make_pdf(staged_site(home), home / "paper" / "index.qmd"))
    return home / "_site"


def _render_site(program: str, home: Path, folder: Path) -> None:
    """Let Quarto render the project into a folder inside it. ReportError with what it says where it fails."""
    command = [program, "render", str(home), "--output-dir", folder.name]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / "index.html").exists():
        raise ReportError(f"quarto render ended with {done.returncode}:\n{done.stderr.strip()[-4000:]}")
    for page in folder.rglob("*.html"):
        page.write_bytes(MODULES.sub(b"", page.read_bytes()))
