"""A committed run that is made again on another machine: which verdicts stay, and which turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby

from compendium.config import Profile
from compendium.papers.common.verdicts import UNTESTABLE
from compendium.project import Results
from compendium.site.publishing.pieces import UNKNOWN, otherwise, processor_of, read_committed
from compendium.site.publishing.places import PAPERS

FILE = "elsewhere.json"
KEPT = ("claim", "verdict", "value", "low", "high")
MADE = ("processor", "commit", "date")


def read_elsewhere(run: Results) -> list[dict]:
    """What other machines said of a committed run's claims: KEPT of each, with processor, commit and date."""
    path = run.root / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def carry_over(earlier: Results, claims: Sequence[Mapping], steps: Mapping[str, Mapping]) -> list[dict]:
    """What other machines than that of `steps` said of these claims: kept from before, and of what is now replaced.

    claims: the new ones. steps: the new records by name. Of a machine and claim, the last that was committed.
    """
    kept = {(row["claim"], row["processor"]): row for row in read_elsewhere(earlier)}
    path = earlier.root / "claims.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    old = read_committed(earlier).get("steps", {})
    for row in before:
        said = _of_machine(row, old.get(PAPERS[row["paper"]][1], {}))
        kept[row["claim"], said["processor"]] = said
    here = {row["claim"]: processor_of(steps.get(PAPERS[row["paper"]][1], {})) for row in claims}
    return [row for (claim, machine), row in sorted(kept.items()) if here.get(claim, machine) != machine != UNKNOWN]


def say_beside(place: Results, claims: Sequence[Mapping], manifest: Mapping, settings: Profile) -> list[dict]:
    """What other machines said of a committed run's claims, with what the run of `manifest` says of them.

    claims: of that run. settings: the profile as it is; what that run had otherwise is noted. ValueError: it judges
    nothing that is committed, or was made on the same kind of processor.
    """
    steps, here = manifest["steps"], read_committed(place).get("steps", {})
    committed = {row["claim"] for row in json.loads((place.root / "claims.json").read_text(encoding="utf-8"))}
    made = [row for row in claims if row["claim"] in committed and PAPERS[row["paper"]][1] in steps]
    if not made:
        judges = ", ".join(notebook for _, notebook, _ in PAPERS.values())
        raise ValueError(
            f"this run has no verdict to lay beside the committed ones; these notebooks give some: {judges}"
        )
    kept = {(row["claim"], row["processor"]): row for row in read_elsewhere(place)}
    for row in made:
        notebook = PAPERS[row["paper"]][1]
        said = _of_machine(row, steps[notebook])
        if said["processor"] == processor_of(here.get(notebook, {})):
            raise ValueError(
                f"{notebook} is committed from {said['processor']} already, and another machine is wanted: `attreval "
                f"publish --only {notebook}` puts this run in its place"
            )
        kept[row["claim"], said["processor"]] = said | _settings_of(manifest, settings)
    return [row for _, row in sorted(kept.items())]


def _of_machine(row: Mapping, record: Mapping) -> dict:
    """KEPT of a claim, with the machine, commit and date of the step that judged it."""
    made = (processor_of(record), record.get("commit"), record.get("finished", "")[:10])
    return {name: row[name] for name in KEPT} | dict(zip(MADE, made, strict=True))


def _settings_of(manifest: Mapping, settings: Profile) -> dict:
    """The settings that a run had otherwise than its profile, and the tasks that it did without."""
    today = json.loads(settings.model_dump_json())
    without = [name for name in today["tasks"] if name not in manifest["settings"]["tasks"]]
    return {"otherwise": sorted(otherwise(manifest, today)), "without": without}


def describe_elsewhere(claims: Sequence[Mapping], elsewhere: Sequence[Mapping]) -> list[str]:
    """For each other machine, how many verdicts on what both could test are the same, and those that are not."""
    here = {row["claim"]: row for row in claims}
    lines = []
    for made, group in groupby(sorted(elsewhere, key=_made), key=_made):
        pairs = [(row, here[row["claim"]]) for row in group]
        untold = [sum(end["verdict"] == UNTESTABLE for end in pair) for pair in pairs]
        both, once = ([pair for pair, ends in zip(pairs, untold, strict=True) if ends == n] for n in (0, 1))
        turned = [(there, row) for there, row in both if there["verdict"] != row["verdict"]]
        processor, commit, date, changed, without = made
        other = [f"with other {', '.join(map('`{}`'.format, changed))}"] if changed else []
        other += [f"without {', '.join(without)}"] if without else []
        said = [
            f"Made on another machine too, {', '.join([f'{processor} (commit `{commit}`, {date})', *other])}: "
            f"the same verdict on {len(both) - len(turned)} of the {len(both)} claims that both could test."
        ]
        said += [f"Others: {'; '.join(_both(*pair) for pair in turned)}."] if turned else []
        said += [f"Tested on one of the two: {'; '.join(_both(*pair) for pair in once)}."] if once else []
        lines.append(" ".join(said))
    return lines


def _both(there: Mapping, here: Mapping) -> str:
    """What another machine said of a claim, and what is committed."""
    return f"`{there['claim']}` there {_told(there)}, here {_told(here)}"


def _told(row: Mapping) -> str:
    """A claim's verdict with its value, where there is one."""
    untestable = row["verdict"] == UNTESTABLE
    return UNTESTABLE.removesuffix(" here") if untestable else f"{row['verdict']} ({_value(row)})"


def _made(row: Mapping) -> tuple:
    """By what a machine's verdicts are put together: where and when they were made, and what was otherwise."""
    made = (str(row[name]) for name in MADE)
    return (*made, tuple(row.get("otherwise", ())), tuple(row.get("without", ())))


def _value(row: Mapping) -> str:
    """A claim's value with its interval."""
    return "no value" if row["value"] is None else f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
