"""The explorer: one page of explained texts, any two methods beside each other, that needs nothing but itself."""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from attreval.core.tables import write_whole
from compendium import project
from compendium.config import Profile, make_known
from compendium.explorer.pack import MOST_BYTES, pack_page, take_turns, to_json
from compendium.explorer.read import find_runs, read_means, read_texts, read_values_of_instances
from compendium.project import Results

PAGE = "explorer.html"
MOST_TEXTS = 200
SCRIPTS = ("agreement.js", "data.js", "drawing.js", "panels.js", "metric_table.js", "explorer.js")


def write_page(results: Results) -> Path:
    """Write explorer.html of a profile's results into the project folder, from where both routes take it."""
    home = project.home()
    icon = home / "paper" / "favicon.svg"
    data = gather_page(results)
    with write_whole(home / PAGE) as part:
        part.write_text(make_page(data, icon.read_text(encoding="utf-8") if icon.exists() else ""), encoding="utf-8")
    return home / PAGE


def make_page(data: dict, icon: str = "") -> str:
    """The page for some data (see pack.pack_page), with everything inside: styles, scripts, data. icon: as SVG."""
    files = resources.files("compendium.explorer") / "js"
    page = (files / "page.html").read_text(encoding="utf-8")
    parts = {
        "icon": "data:image/svg+xml," + quote(icon) if icon else "data:,",
        "style": (files / "explorer.css").read_text(encoding="utf-8"),
        "print": (files / "print.css").read_text(encoding="utf-8"),
        "script": "".join((files / name).read_text(encoding="utf-8") for name in SCRIPTS),
        "made": escape(_describe_run(data["about"])),
        "data": to_json(data),  # last: nothing is looked for inside it
    }
    for name, text in parts.items():
        page = page.replace(f"[[{name}]]", text, 1)
    return page


def gather_page(results: Results, most: int = MOST_TEXTS, most_bytes: int = MOST_BYTES) -> dict:
    """The page's data from what a run has left; without texts where nothing was explained.

    The settings are those that the manifest says the results were made with; what has no place in today's schema is
    passed over, since a setting may have been renamed since.
    """
    manifest = results.root / "manifest.json"
    facts = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    lengths = {"attreval": None, "date": 10, "commit": 12}
    about = {"profile": str(facts.get("profile") or results.root.name)}
    about |= {name: str(facts.get(name) or "")[:length] for name, length in lengths.items()}
    if not facts.get("settings"):
        return pack_page([], {}, about, Profile.model_construct().agreement, [])
    make_known(facts["settings"])
    profile = Profile.model_validate(facts["settings"], extra="ignore")
    runs, gaps = find_runs(results, profile)
    counts = {run: len(instances) for run, instances in runs.items()}
    turns = take_turns(counts, most)
    values = read_values_of_instances(results)
    found = {}
    for run, instances in runs.items():
        chosen = [instances[place] for other, place in turns if other == run]
        found |= {(run, text.instance.id): text for text in read_texts(results, profile, run, chosen, values)}
    texts = [found[name] for run, place in turns if (name := (run, runs[run][place].id)) in found]
    return pack_page(texts, read_means(results, values), about, profile.agreement, gaps, counts, most_bytes)


def _describe_run(about: dict[str, str]) -> str:
    """Which run a page shows, in words."""
    words = {"profile": "Profile", "attreval": "attreval", "commit": "commit", "date": "results of"}
    return ", ".join(f"{word} {about[name]}" for name, word in words.items() if about.get(name)) + "."
