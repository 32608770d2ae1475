"""Where committed runs lie, and which steps a whole run of a profile has."""

from __future__ import annotations

from attreval.config import Profile
from attreval.core import project
from attreval.core.project import Results, step_name

COMMITTED = {"reference": "full", "quick": "quick"}  # profile -> folder below results/reference, the main run first


def committed(profile: str) -> Results:
    """The committed copy of a profile's run. ValueError for a profile of which none is committed."""
    if profile not in COMMITTED:
        raise ValueError(f"of profile {profile!r} no run is committed; of these there are: {', '.join(COMMITTED)}")
    return Results(project.home() / "results" / "reference" / COMMITTED[profile])


def committed_runs() -> dict[str, Results]:
    """The committed runs that are there, by profile, the main one first."""
    places = {profile: committed(profile) for profile in COMMITTED}
    return {profile: place for profile, place in places.items() if (place.root / "claims.json").exists()}


def expected_steps(profile: Profile) -> list[str]:
    """The name of every step of a whole run, in the workflow's order."""
    explained = profile.explained_runs()
    agreement, diagnosed = profile.explained_runs("agreement"), profile.explained_runs("diagnosis")
    joint = any(profile.joint.rows_of(run[0], profile.rows_explained(*run[:2])) for run in explained)
    several_seeds = profile.seed_study or any(len(profile.tasks[task].seeds) > 1 for task, _, _ in agreement)
    of_papers = {
        "04_poerner2018": profile.explained_runs("pointing"),
        "05_kamp2023": agreement,
        "05_kamp2023_seeds": several_seeds,
        "06_zhao2023": profile.explained_runs("faithfulness"),
        "07_sun2024": diagnosed,
        "08_joint": joint or diagnosed,
        "09_planted": True,
    }
    return [
        "01_data",
        *steps_before(profile, explained),
        "03_overview",
        *_steps_of_diagnosis(profile, diagnosed),
        *(notebook for notebook, needed in of_papers.items() if needed),
    ]


def steps_before(profile: Profile, explained: list) -> list[str]:
    """The steps that train and explain some runs; of all models where these are all explained runs."""
    everything = explained == profile.explained_runs()
    read = {(profile.read_by(task), model, seed) for task, model, seed in explained}
    trained = [run for run in profile.trained_runs() if everything or run in read]
    shards = [(*run, shard) for run in explained for shard in range(profile.explaining_of(run[0]).shards)]
    return [*(step_name("02_train", *run) for run in trained), *(step_name("03_explain", *run) for run in shards)]


def _steps_of_diagnosis(profile: Profile, runs: list) -> list[str]:
    """The steps that explain by types and train agents."""
    parts = [(*run, part) for run in runs for part in range(profile.diagnosis.parts)]
    explained = [step_name("07_sun2024_explanations", *part) for part in parts]
    return [*explained, *(step_name("07_sun2024_agents", *run) for run in runs)]


def steps_of_judge(profile: Profile, notebook: str) -> list[str]:
    """The steps that a paper's notebook rests on, without itself."""
    judges = {"04": "pointing", "05": "agreement", "06": "faithfulness", "07": "diagnosis"}
    runs = profile.explained_runs(judges[notebook[:2]])
    if notebook.startswith("07"):  # it explains by itself
        read = {(profile.read_by(task), model, seed) for task, model, seed in runs}
        trained = [step_name("02_train", *run) for run in profile.trained_runs() if run in read]
        return [*trained, *_steps_of_diagnosis(profile, runs)]
    return steps_before(profile, runs)
