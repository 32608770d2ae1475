"""Where committed runs lie, what is read from them, and what judges the papers in them."""

from __future__ import annotations

import json
from pathlib import Path

from compendium import project
from compendium.papers.common.claims import scorecard
from compendium.project import Results

COMMITTED = {"reference": "full", "quick": "quick"}  # profile -> folder below results/reference, the main run first
ELSEWHERE = "elsewhere.json"

PAPERS = {  # title, notebook, rule of workflow/Snakefile
    "poerner2018": ("Poerner, Schütze and Roth (2018)", "04_poerner2018", "pointing_game"),
    "kamp2023": ("Kamp, Beinborn and Fokkens (2023)", "05_kamp2023", "agreement"),
    "zhao2023": ("Zhao and Aletras (2023)", "06_zhao2023", "faithfulness"),
    "sun2024": ("Sun, Atanasova and Augenstein (2024)", "07_sun2024", "diagnosis"),
}


def committed(profile: str) -> Results:
    """The committed copy of a profile's run. ValueError for a profile of which none is committed."""
    if profile not in COMMITTED:
        raise ValueError(f"of profile {profile!r} no run is committed; of these there are: {', '.join(COMMITTED)}")
    return Results(project.home() / "results" / "reference" / COMMITTED[profile])


def committed_runs() -> dict[str, Results]:
    """The committed runs that are there, by profile, the main one first."""
    places = {profile: committed(profile) for profile in COMMITTED}
    return {profile: place for profile, place in places.items() if (place.root / "claims.json").exists()}


def claims_json(tables: Path) -> str:
    """Every claim with its verdict, as `attreval claims --json` prints it."""
    return scorecard(tables).to_json(orient="records", indent=1, force_ascii=False) + "\n"


def read_elsewhere(run: Results) -> list[dict]:
    """What other machines said of a committed run's claims: verdict, value, processor, commit and date."""
    path = run.root / ELSEWHERE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
