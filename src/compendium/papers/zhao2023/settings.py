"""What a task stands in for, and under which settings it is erased (Zhao & Aletras 2023, 4).

A setting is a protocol with the scores and rivals that it takes. The main run is as the profile
says; the rules of `RULES` are columns of Tables 2, 3 and 6; each change alters one thing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from attreval.metrics.protocol import Protocol
from compendium.config import Profile
from compendium.corpora import TASKS
from compendium.papers.zhao2023.deviations import HARD, OURS, RELEASED, SCALE, Deviation

PUBLISHED_TASKS = {
    "sst2": "SST",
    "evidence_inference": "EvInf",
    "ag_news": "AG",
    "multirc": "MultiRC",
}
STAND_INS = {"rotten_tomatoes": "SST", "bbc": "AG", "imdb": "EvInf", "snli": "MultiRC"}
# random masks of a changed protocol, and of the main one that it is compared with
CONTROL_DRAWS = 1
HARD_PREFIX = "hard: "  # of settings for hard erasure alone
Ties = Literal["lose", "half", "win"]


def published_dataset(task: str) -> str | None:
    """The data set of the paper that a task is, or stands in for."""
    return (STAND_INS | PUBLISHED_TASKS).get(task)


def compared_tasks(tasks: Iterable[str]) -> list[str]:
    """Of any tasks, those that averages are over: the paper's own where there are any."""
    tasks = list(dict.fromkeys(tasks))
    return [task for task in tasks if task in PUBLISHED_TASKS] or tasks


def compared_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of those tasks that averages are over."""
    return table[table.task.isin(compared_tasks(table.task))]


def main_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the main run."""
    return table[table.setting == "main"]


@dataclass(frozen=True)
class Setting:
    """One way to measure.

    methods: explanation methods that take others' place. permuted: the rival is a method's own
    scores in another order, not random scores. soft: whether soft erasure is asked for.
    """

    protocol: Protocol
    methods: dict[str, str]
    permuted: bool = False
    soft: bool = True


@dataclass(frozen=True)
class TableRule:
    """One column of the tables: a setting of `RULE_SETTINGS`, and what a tie counts.

    ties: None as the setting says.
    """

    title: str
    setting: str
    ties: Ties | None


RULE_SETTINGS = {
    "published": Deviation(
        "min-max, random rivals, a tie is a loss", {"norm": "minmax", "ties": "lose"}
    ),
    "equal_means": Deviation(
        "masks of equal mean for all methods", {"norm": "calibrated", "ties": "lose"}
    ),
    "released": RELEASED["all"],
}
# what changes these alone asks the model for nothing new
FREE = {"ties", "margin", "clipped", "drift", "sharpness"}
RULES = {
    "published": TableRule("Published rule", "published", "lose"),
    "ties_half": TableRule("Ties half", "published", "half"),
    "equal_means": TableRule("Equal means", "equal_means", "lose"),
    "equal_means_half": TableRule("Equal means, ties half", "equal_means", "half"),
    "released": TableRule("Released code", "released", None),
}


def query_segment(task: str) -> int | None:
    """Which segment of a task is asked about the other, if one is: it is never erased."""
    segments = TASKS[task].segments
    return segments.index("query") if "query" in segments else None


def main_deviation(profile: Profile, task: str) -> Deviation:
    """What the main run of a task does, as a change of the default protocol."""
    spec = profile.faithfulness_of(task)
    if spec.protocol == "released":
        return RELEASED["all"]
    fields = {"norm": spec.norm, "ties": spec.ties}
    return Deviation("as the profile says", fields, permuted=spec.rival == "permuted")


def main_protocol(profile: Profile, task: str) -> Protocol:
    return main_deviation(profile, task).apply(_plain(profile, task))


def rule_protocol(profile: Profile, task: str, setting: str) -> Protocol:
    """The protocol of one of `RULE_SETTINGS` on a task; the released code draws one mask."""
    found = RULE_SETTINGS[setting].apply(_plain(profile, task))
    return replace(found, draws=1) if setting == "released" else found


def rule_setting(profile: Profile, task: str, setting: str) -> str:
    """Under which name one of `RULE_SETTINGS` is measured: `main` where the main run is just that.

    Equal means, which the joint study reads, are always under their own.
    """

    def told_by(change: Deviation) -> tuple:
        return change.apply(Protocol()), change.methods, change.permuted

    same = told_by(main_deviation(profile, task)) == told_by(RULE_SETTINGS[setting])
    return "main" if same and setting != "equal_means" else setting


def list_settings(profile: Profile, task: str, at: int = -1) -> dict[str, Setting]:
    """Every setting, by name, that a task's instance number `at` is erased under; -1: any instance.

    `main` comes first; then the rules beside it, the changes, and those for hard erasure alone
    (`hard: ...`).
    """
    spec = profile.faithfulness_of(task)
    main = main_deviation(profile, task)
    found = {"main": Setting(main_protocol(profile, task), main.methods, main.permuted)}
    for name, rule in RULE_SETTINGS.items():
        measured = name != "released" or spec.released_rows is None or at < spec.released_rows
        if measured and rule_setting(profile, task, name) == name:
            found[name] = Setting(rule_protocol(profile, task, name), rule.methods, rule.permuted)
    control = replace(found["main"].protocol, draws=CONTROL_DRAWS)
    for name, change in list_changes(profile, task, at).items():
        permuted = main.permuted or change.permuted
        found[name] = Setting(change.apply(control), main.methods | change.methods, permuted)
    for name, change in _applicable(task, HARD).items():
        if at < spec.driver_rows or (not change.methods and set(change.fields) <= FREE):
            found[HARD_PREFIX + name] = Setting(
                change.apply(_plain(profile, task)), change.methods, soft=False
            )
    return found


def protocol_of(profile: Profile, task: str, setting: str) -> Protocol:
    return list_settings(profile, task)[setting].protocol


def list_changes(profile: Profile, task: str, at: int = -1) -> dict[str, Deviation]:
    """Every change of protocol in `list_settings`, and `control`, which they are compared with."""
    spec = profile.faithfulness_of(task)
    control = {"control": Deviation("as in the main run")}
    scale = control | SCALE if at < spec.scale_rows else {}
    if at >= spec.control_rows:
        return scale
    found = control | RELEASED | OURS
    found["draws"] = Deviation(
        f"{spec.draws} random masks, not {CONTROL_DRAWS}", {"draws": spec.draws}
    )
    for v in spec.noise_variances:
        noise = {"soft": "noise", "variance": v}
        found[f"noise_{v:g}"] = Deviation(f"noise scaled by the score, variance {v:g}", noise)
    found["variance_1"] = Deviation(
        "noise of variance up to 1", {"soft": "variance", "variance": 1.0}
    )
    found["attend"] = Deviation("soft attention mask", {"soft": "attend"})
    return _applicable(task, found | scale)


def _applicable(task: str, changes: dict[str, Deviation]) -> dict[str, Deviation]:
    """The changes without those of the query, where the task asks none."""
    query = query_segment(task) is not None
    return {name: change for name, change in changes.items() if query or not change.queries_only}


def _plain(profile: Profile, task: str) -> Protocol:
    """The default protocol with the ratios and draws of a task."""
    spec = profile.faithfulness_of(task)
    return Protocol(ratios=tuple(spec.ratios), draws=spec.draws, erased="first")
