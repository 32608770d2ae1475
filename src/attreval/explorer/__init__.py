"""What did two methods say of one text, and how does each judge score them? One page that needs nothing but itself."""

from __future__ import annotations

from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from attreval.core import project
from attreval.core.tables import write_whole

PAGE = "explorer.html"
SCRIPTS = ("judging.js", "reading.js", "drawing.js", "panels.js", "scoring.js", "explorer.js")


def make_page(data: dict, icon: str = "") -> str:
    """The page for some data (see assembling.assemble), with everything inside: styles, scripts, data. icon: as SVG."""
    from attreval.explorer.packing import to_json

    files = resources.files(__name__)
    page = (files / "page.html").read_text(encoding="utf-8")
    parts = {
        "icon": "data:image/svg+xml," + quote(icon) if icon else "data:,",
        "style": (files / "explorer.css").read_text(encoding="utf-8"),
        "print": (files / "print.css").read_text(encoding="utf-8"),
        "script": "".join((files / name).read_text(encoding="utf-8") for name in SCRIPTS),
        "made": escape(tell_run(data["about"])),
        "data": to_json(data),  # last: nothing is looked for inside it
    }
    for name, text in parts.items():
        page = page.replace(f"[[{name}]]", text, 1)
    return page


def tell_run(about: dict[str, str]) -> str:
    """Which run a page shows, in words."""
    words = {"profile": "Profile", "attreval": "attreval", "commit": "commit", "date": "results of"}
    return ", ".join(f"{word} {about[name]}" for name, word in words.items() if about.get(name)) + "."


def write_page(profile: str) -> Path:
    """Write explorer.html of a profile's results into the project folder, from where both routes take it."""
    from attreval.explorer.assembling import gather

    home = project.home()
    icon = home / "paper" / "favicon.svg"
    page = make_page(gather(project.results(profile)), icon.read_text(encoding="utf-8") if icon.exists() else "")
    with write_whole(home / PAGE) as part:
        part.write_text(page, encoding="utf-8")
    return home / PAGE
