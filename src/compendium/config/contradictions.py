"""Contradictions of a profile: what is asked of explanations that cannot judge them, found before anything is trained.

Each is a ValueError that names the task, what came, and what would do.
"""

from __future__ import annotations

from attreval.methods import METHODS, TECHNIQUES, methods_for
from compendium.corpora import TASKS

OF_THE_PREDICTED = {  # judges that ask the model about the class it predicts, whatever was explained
    "pointing": "the pointing game (notebook 04) asks what speaks for the predicted class",
    "faithfulness": "erasure (notebook 06) measures the probability of the predicted class",
}
FAMILY = {"gru": "recurrent", "lstm": "recurrent", "qgru": "quasi", "qlstm": "quasi", "cnn": "convolutional"}


def check_judges(profile, task: str) -> None:
    """Raise ValueError where a task's judges, models and ways to explain do not fit together."""
    explain = profile.explaining_of(task)
    for model in profile.tasks[task].models:
        used = profile.task_of(task, model)
        family = FAMILY.get(profile.models[model].architecture, "transformer")
        if used.explain_rows and set(used.judges) - {"diagnosis"}:
            _check_explaining(task, model, family, used.judges, explain)
            _check_parts(f"task {task!r}: explain.shards", explain.shards, "explain_rows", used.explain_rows)
        if "diagnosis" in used.judges:
            _check_diagnosis(profile.diagnosis, task, model, family)


def check_more_than_random(profile) -> None:
    """Raise ValueError where a task that is judged is explained by random scores alone: there is nothing to judge."""
    for task in dict.fromkeys(run[0] for run in profile.explained_runs()):
        if profile.explaining_of(task).methods == ["random"]:
            raise ValueError(
                f"task {task!r} is explained by random scores alone, so that there is nothing to judge: name another "
                "method under explain.methods, or leave explain.methods out for those of the papers"
            )


def check_choice_of_runs(profile) -> None:
    """Raise ValueError where two studies of seeds would choose the run that tables of agreement are of."""
    study = profile.seed_study
    if profile.agreement.runs == "all" or study is None or study.task not in profile.tasks:
        return
    task = profile.tasks[study.task]
    if len(task.seeds) > 1 and study.model in task.models:
        raise ValueError(
            f"agreement.runs is 'lowest_apd', and of task {study.task!r}, model {study.model!r} there are the seeds "
            f"{task.seeds} and those of seed_study: leave seed_study out, or give it another task or model"
        )


def check_twins(profile) -> None:
    """Raise ValueError where the twins of joint.masked differ in more than whether they are masked."""
    for task, model, seed in profile.twin_runs():
        if (task, model, seed) not in profile.trained_runs():
            raise ValueError(f"joint.masked: no model {model!r} is trained on task {task!r}")
        twins = profile.joint.masked.twins[task]
        if profile.training_of(task, model).masked != (model in twins.masked):
            kind = "masked" if model in twins.masked else "plain"
            raise ValueError(f"joint.masked: {model!r} is a {kind} twin; give it training.masked to match")
        first = twins.plain[0]
        ours, theirs = (_upbringing(profile, task, name) for name in (first, model))
        for what in (what for what in ours if ours[what] != theirs[what]):
            raise ValueError(
                f"joint.masked: twins on task {task!r} differ in `masked` alone; the {what} of {first!r} is "
                f"{ours[what]}, that of {model!r} is {theirs[what]}"
            )


def _upbringing(profile, task: str, model: str) -> dict[str, dict]:
    """All that makes a trained model but its name and whether it is masked."""
    return {
        "model": profile.models[model].model_dump(exclude={"training"}),
        "rows": profile.task_of(task, model).model_dump(include={"train_rows", "dev_rows", "also_train"}),
        "training": profile.training_of(task, model).model_dump(exclude={"masked"}),
    }


def _check_explaining(task: str, model: str, family: str, judges: list[str], explain) -> None:
    """Raise ValueError where a judge of the predicted class is given another, or no method applies to a model."""
    for judge in [name for name in judges if name in OF_THE_PREDICTED and explain.target != "predicted"]:
        raise ValueError(
            f"task {task!r} has the judge {judge!r} and explain.target {explain.target!r}: {OF_THE_PREDICTED[judge]}. "
            f"Give the task `explain: {{target: predicted}}`, or take {judge!r} from its judges"
        )
    if not any(family in METHODS[name].families for name in explain.methods):
        raise ValueError(
            f"task {task!r} is explained by {', '.join(explain.methods)}, of which none applies to its model {model!r} "
            f"({family}); these do: {', '.join(methods_for(family))}"
        )


def _check_diagnosis(spec, task: str, model: str, family: str) -> None:
    """Raise ValueError for a task of one text, a technique that does not apply to a model, and parts without any."""
    if len(TASKS[task].segments) < 2:
        fit = [name for name, known in TASKS.items() if len(known.segments) == 2]
        raise ValueError(f"task {task!r} has one text; diagnosis needs two, as in: {', '.join(fit)}")
    for technique in spec.techniques:
        if not all(family in METHODS[name].families for name in TECHNIQUES[technique].values()):
            raise ValueError(
                f"task {task!r} has the judge 'diagnosis', whose technique {technique!r} does not apply to the model "
                f"{model!r} ({family}); give the task a transformer, or leave it out of diagnosis.techniques"
            )
    _check_parts("diagnosis.parts", spec.parts, "diagnosis.rows", spec.rows)


def _check_parts(what: str, parts: int, of: str, rows: int) -> None:
    """Raise ValueError where work is cut into more parts than it has instances."""
    if parts > rows:
        raise ValueError(f"{what} is {parts}, but {of} is {rows}: some would be empty; at most {rows} will do")
