"""attreval publish: a whole run's tables, figures, claims, manifest and notebooks, into the
repository.

What is committed of each file, site.committed says.
"""

import fnmatch
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from attreval.core.tables import write_json
from compendium import config, project
from compendium.config import Profile
from compendium.project import Results, replace_folder
from compendium.site import committed as runs
from compendium.site.fidelity import write_fidelity
from compendium.site.quotes import (
    check_folder,
    corpus_texts,
    find_quotes,
    printed_by_papers,
    written,
)
from compendium.workflow.manifest import describe_steps, make_manifest
from compendium.workflow.steps import expected_steps

NO_TEXT = "No sentence of any corpus is here but examples that the papers print."


def publish(profile: str) -> Path:
    """Copy a profile's whole run into results/reference, without any corpus text; write
    docs/fidelity.md and links.

    The folder changes as a whole, and only if nothing in it quotes a corpus. Gives the folder.
    ValueError says which steps of the run are missing, or what in it quotes; FileNotFoundError,
    which task's table is not there to compare with.
    """
    settings = config.load(profile)
    run = project.results(settings.name)
    place = runs.committed(settings.name)
    if missing := missing_steps(settings, run):
        raise ValueError(
            f"the run of {settings.name!r} is not whole; these steps are missing: "
            f"{', '.join(missing)}. "
            f"`attreval run --profile {profile}` makes them"
        )
    make_manifest(profile)
    exempt = printed_by_papers(settings)
    place.root.parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(place.root) as folder:
        left_out = _copy_clean(settings, run, Results(folder), exempt)
        manifest = project.read_json(run.root / "manifest.json") | {"left_out": left_out}
        processor = manifest.get("machine", {}).get("processor", "")
        if there := [
            row for row in runs.read_elsewhere(place) if row["processor"] not in processor
        ]:
            write_json(folder / runs.ELSEWHERE, there)
        _finish(settings, folder, manifest, exempt)
    return _link(place)


def publish_steps(profile: str, steps: Sequence[str]) -> Path:
    """Put some steps of a run beside the others of the committed run, or in place of what they
    committed before.

    For a study of its own, or one paper anew, that a machine runs without the rest of the profile;
    the rest stays as it is. steps: names, or patterns of names such as `02_train-*`. Gives the
    folder. FileNotFoundError: a step has not run here, or a task's table is not there to compare
    with. ValueError: something in the folder would be quoted.
    """
    settings = config.load(profile)
    run = project.results(settings.name)
    place = runs.committed(settings.name)
    here = sorted(path.stem for path in run.steps.glob("[!.]*.json"))
    names = sorted({name for step in steps for name in fnmatch.filter(here, step) or [step]})
    records = {name: project.read_json(run.existing(run.record(name), name)) for name in names}
    exempt = printed_by_papers(settings)
    with replace_folder(place.root) as folder, TemporaryDirectory() as alone:
        shutil.copytree(place.root, folder, dirs_exist_ok=True)
        manifest = project.read_json(folder / "manifest.json")
        only = Results(Path(alone))
        for name, record in records.items():
            for file in manifest["steps"].get(name, {"files": []})["files"]:
                (folder / file).unlink(missing_ok=True)
            files = [
                run.root / file
                for file in record["files"]
                if file.startswith(("tables/", "figures/"))
            ]
            for path in (run.executed(name), *files):
                target = only.root / path.relative_to(run.root)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
        said = _copy_clean(settings, only, Results(folder), exempt)
        known = sorted({*manifest["steps"], *records}, key=len, reverse=True)

        def step_of(line: str) -> str:
            """Whose a line on what is left out is: `table 08_joint_...`, or `08_joint, cell 2`."""
            place = re.sub("^(?:table|figure) ", "", line)
            return next((name for name in known if place.startswith((f"{name}_", f"{name},"))), "")

        kept = [line for line in manifest["left_out"] if step_of(line) not in names]
        manifest["left_out"] = list(dict.fromkeys([*kept, *said]))
        manifest |= describe_steps(settings, list((manifest["steps"] | records).values()))
        _finish(settings, folder, manifest, exempt)
    return _link(place)


def _say_made(steps: Mapping[str, dict]) -> str:
    """A line for each commit and machine: the steps that were made so, networks by device, what a
    record notes.
    """
    made: dict[str, list[dict]] = {}
    for _, record in sorted(steps.items()):
        machine = record.get("machine", {})
        names = [machine[part] for part in ("processor", "accelerator") if part in machine]
        made.setdefault(", ".join([f"`{record.get('commit') or 'unknown'}`", *names]), []).append(
            record
        )
    said = []
    for where, records in made.items():
        kinds = Counter(record["notebook"] for record in records)
        named = ", ".join(
            f"`{kind}` ({count})" if count > 1 else f"`{kind}`"
            for kind, count in sorted(kinds.items())
        )
        devices: Counter[str] = Counter()
        for record in records:
            devices.update(record.get("devices", {}))
        facts = [named]
        if devices:
            trained = ", ".join(f"{name} {count}" for name, count in devices.items())
            facts.append(f"networks trained by device: {trained}")
        facts += sorted({record["note"] for record in records if "note" in record})
        said.append(f"- {where}: {'; '.join(facts)}")
    return "\n".join(said)


def _copy_clean(settings: Profile, run: Results, copy: Results, exempt: list[str]) -> list[str]:
    """Copy figures, tables and notebooks without what quotes a corpus; say what is left out.

    exempt: texts that may be quoted.
    """
    files = [
        *run.notebooks.glob("[!.]*.ipynb"),
        *run.tables.glob("[!.]*.csv"),
        *run.figures.glob("[!.]*.svg"),
    ]
    pieces = {}
    for path in sorted(files):
        if not path.stem.endswith(runs.OF_TEXTS):
            pieces |= written(path)
    quoted = find_quotes(pieces, corpus_texts(settings), exempt)
    shown, figures = runs.copy_figures(run, copy, quoted, vector=settings.name == runs.MAIN)
    return [
        *runs.copy_tables(run, copy, quoted),
        *figures,
        *runs.copy_notebooks(run, copy, quoted, shown),
    ]


def _finish(settings: Profile, folder: Path, manifest: dict, exempt: list[str]) -> None:
    """Write what describes the committed run; ValueError where anything in it quotes a corpus."""
    write_json(folder / "manifest.json", manifest)
    (folder / "claims.json").write_text(runs.claims_json(Results(folder).tables), encoding="utf-8")
    (folder / "README.md").write_text(_describe(settings.name, manifest), encoding="utf-8")
    check_folder(folder, corpus_texts(settings), exempt)


def _link(place: Results) -> Path:
    """Write docs/fidelity.md and the links to a committed run; give its folder."""
    write_fidelity()
    runs.write_links()
    return place.root


def missing_steps(profile: Profile, run: Results) -> list[str]:
    """Steps of a whole run whose record, executed notebook or files are not there."""

    def is_whole(step: str) -> bool:
        if not (run.record(step).exists() and run.executed(step).exists()):
            return False
        return all(
            (run.root / name).exists() for name in project.read_json(run.record(step))["files"]
        )

    return [step for step in expected_steps(profile) if not is_whole(step)]


def _describe(profile: str, manifest: Mapping) -> str:
    """README.md of a committed run."""
    kinds = ", ".join(f"`*{kind}.csv`" for kind in runs.OF_TEXTS)
    told = f" Figures are PNG alone; those of `{runs.MAIN}`, which the site shows, are SVG, too."
    return f"""# The committed run of profile `{profile}`

Written by `attreval publish --profile {profile}`, never by hand. `notebooks/` holds the executed notebooks, `tables/` \
and `figures/` what they wrote, `claims.json` the verdicts, `manifest.json` versions, corpora with their hashes, \
seeds, machine, durations and evaluations. Verdicts with their reasons: [docs/fidelity.md](../../../docs/fidelity.md).

Its steps by commit and machine:

{_say_made(manifest["steps"])}

Tables of more than {runs.LONG_BYTES // 1000} kB keep {runs.DIGITS} digits of each fraction; those with a row for each \
single text ({kinds}) are left out.{told if profile != runs.MAIN else ""}

{NO_TEXT} Left out, or with ids in place of texts \
(`attreval fetch` brings them):

""" + "".join(f"- {line}\n" for line in manifest["left_out"] or ["nothing"])  # noqa: E501
