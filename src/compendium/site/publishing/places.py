"""Where committed runs lie, and what judges the papers in them."""

from __future__ import annotations

from compendium import project
from compendium.project import Results

COMMITTED = {"reference": "full", "quick": "quick"}  # profile -> folder below results/reference, the main run first

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
