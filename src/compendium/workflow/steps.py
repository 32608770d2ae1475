"""Steps of a whole run, by name and in the workflow's order: what the Snakefile asks for and a manifest is held to."""

from __future__ import annotations

from collections.abc import Iterable

from compendium.config.profile import Profile, Run
from compendium.project import step_name

JUDGES = {
    "04_poerner2018": "pointing",
    "05_kamp2023": "agreement",
    "05_kamp2023_seeds": "agreement",
    "06_zhao2023": "faithfulness",
    "07_sun2024": "diagnosis",
}  # notebook -> the judge whose explained runs it reads


def joint_runs(profile: Profile) -> list[Run]:
    """The explained runs that go before every metric."""
    runs = profile.explained_runs()
    return [run for run in runs if profile.joint.rows_of(run[0], profile.rows_explained(*run[:2]))]


def seed_runs(profile: Profile) -> list[Run]:
    """The explained runs of the tasks that have several seeds of a model."""
    return [run for run in profile.explained_runs("agreement") if len(profile.tasks[run[0]].seeds) > 1]


def judging_notebooks(profile: Profile) -> list[str]:
    """The notebooks that judge explanations and have some to judge."""
    some = {notebook: bool(profile.explained_runs(judge)) for notebook, judge in JUDGES.items()}
    some |= {"05_kamp2023_seeds": bool(profile.seed_study or seed_runs(profile)), "09_planted": True}
    some |= {"08_joint": bool(joint_runs(profile)) or some["07_sun2024"]}
    return sorted(notebook for notebook in some if some[notebook])


def models_of(profile: Profile, runs: Iterable[Run]) -> list[Run]:
    """The trained models that read the instances of these runs, each once."""
    return sorted({(profile.read_by(task), model, seed) for task, model, seed in runs})


def expected_steps(profile: Profile) -> list[str]:
    """The name of every step of a whole run."""
    shards = _explaining(profile, profile.explained_runs())
    trained = [step_name("02_train", *run) for run in profile.trained_runs()]
    diagnosis = _diagnosis(profile, profile.explained_runs("diagnosis"))
    return ["01_data", *trained, *shards, "03_overview", *diagnosis, *judging_notebooks(profile)]


def steps_before(profile: Profile, notebook: str) -> list[str]:
    """The steps that a paper's notebook rests on: training, and explaining; 07 explains by itself."""
    judge = JUDGES[notebook]
    runs = profile.explained_runs(judge)
    trained = [step_name("02_train", *run) for run in models_of(profile, runs)]
    return [*trained, *(_diagnosis if judge == "diagnosis" else _explaining)(profile, runs)]


def _explaining(profile: Profile, runs: Iterable[Run]) -> list[str]:
    """The steps that explain these runs, a shard each."""
    shards = [(*run, shard) for run in runs for shard in range(profile.explaining_of(run[0]).shards)]
    return [step_name("03_explain", *shard) for shard in shards]


def _diagnosis(profile: Profile, runs: Iterable[Run]) -> list[str]:
    """The steps that explain these runs by types of explanations, and train agents."""
    parts = [(*run, part) for run in runs for part in range(profile.diagnosis.parts)]
    explained = [step_name("07_sun2024_explanations", *part) for part in parts]
    return [*explained, *(step_name("07_sun2024_agents", *run) for run in runs)]
