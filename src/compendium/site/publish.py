"""attreval publish: a whole run's tables, figures, claims, manifest and notebooks are committed.

What becomes of each file, site.committed says.
"""

import fnmatch
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attreval.core.tables import write_json, write_text
from compendium import config, project
from compendium.config import Profile
from compendium.explorer.page import COMMITTED, gather_page, to_json
from compendium.project import Results, replace_folder
from compendium.site import committed as runs
from compendium.site.fidelity import fidelity_markdown
from compendium.site.quotes import (
    corpus_texts,
    find_quotes,
    printed_by_papers,
    refuse_quotes,
    written,
)
from compendium.workflow.manifest import describe_steps, make_manifest
from compendium.workflow.run_snakemake import find_incomplete
from compendium.workflow.steps import expected_steps

NO_TEXT = (
    "No sentence of any corpus is here but examples that the papers print, and those of our own "
    "(`data/own_texts`), which `explorer.json` shows."
)
FILES = ("notebooks/[!.]*.ipynb", "tables/[!.]*.csv", "figures/[!.]*", "values/[!.]*.parquet")
COPIED = ("tables/", "figures/", "values/")


def publish_run(profile: str, steps: Sequence[str] = ()) -> Path:
    """Copy a profile's run into results/reference; write docs/fidelity.md and the links to it.

    The folder, which is returned, changes as a whole, and only if nothing in it quotes a corpus.

    Args:
        profile: its name or file.
        steps: names, or patterns of names such as `02_train-*`. These steps alone are put beside
            the others of the committed run, or in place of what they committed before; what the
            profile has no more goes, unless it is without a task here, and so cannot tell.

    Raises:
        ValueError: steps are missing in the run, or something in it quotes a corpus.
        FileNotFoundError: a step has not run here, or a task's table is not there to compare with.
    """
    settings = config.load_profile(profile)
    run = project.results(settings.name)
    place = runs.committed(settings.name)
    here = [path.stem for path in run.steps.glob("[!.]*.json")]
    names = sorted({name for step in steps for name in fnmatch.filter(here, step) or [step]})
    records = {name: project.read_json(run.existing(run.record(name), name)) for name in names}
    missing = [] if steps else missing_steps(settings, run)
    if missing:
        raise ValueError(
            f"the run of {settings.name!r} is not whole; these steps are missing: "
            f"{', '.join(missing)}. `attreval run --profile {profile}` makes them"
        )
    exempt = printed_by_papers(settings)
    place.root.parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(place.root) as folder:
        if steps:
            files, manifest = _replace_steps(settings, run, place, folder, records)
        else:
            files = [path for kind in FILES for path in sorted(run.root.glob(kind))]
            manifest = project.read_json(make_manifest(profile)) | {"left_out": []}
            # what machines with another processor said of the run that was committed before
            processor = manifest.get("machine", {}).get("processor", "")
            said = runs.read_elsewhere(place)
            if kept := [row for row in said if row["processor"] not in processor]:
                write_json(folder / runs.ELSEWHERE, kept)
        left_out = _copy_clean(settings, files, Results(folder), exempt)
        manifest["left_out"] = list(dict.fromkeys([*manifest["left_out"], *left_out]))
        write_json(folder / "manifest.json", manifest)
        write_text(folder / "claims.json", runs.claims_json(Results(folder).tables))
        write_text(folder / "README.md", _describe(settings.name, manifest))
        shown = gather_page(run, everything=False)
        if shown["runs"]:
            write_text(folder / COMMITTED, to_json(shown))
        refuse_quotes(folder, corpus_texts(settings), exempt)
    write_text(project.home() / "docs" / "fidelity.md", fidelity_markdown())
    runs.write_links()
    return place.root


def _replace_steps(
    settings: Profile, run: Results, place: Results, folder: Path, records: Mapping[str, dict]
) -> tuple[list[Path], dict]:
    """Copy the committed run, if there is one, without what these steps left there, and old ones.

    Returns the steps' files of this run, and the manifest with their records.
    """
    manifest = project.read_json(make_manifest(settings.name)) | {"left_out": [], "steps": {}}
    if place.root.exists():
        shutil.copytree(place.root, folder, dirs_exist_ok=True)
        manifest = place.facts()
    # a line on what is left out begins as `table 08_joint_...`, or `08_joint, cell 2`
    known = sorted({*manifest["steps"], *records}, key=len, reverse=True)
    owner = re.compile(rf"(?:table |figure )?({'|'.join(map(re.escape, known))})[_,]")
    # tasks that are left out here have steps, too, which are not expected
    old = set() if settings.left_out else manifest["steps"].keys() - expected_steps(settings)
    for name in old.union(records):
        for file in manifest["steps"].pop(name, {"files": []})["files"]:
            (folder / file).unlink(missing_ok=True)
        Results(folder).executed(name).unlink(missing_ok=True)
    files = []
    for name, record in records.items():
        made = [file for file in record["files"] if file.startswith(COPIED)]
        files += [run.executed(name), *(run.root / file for file in made)]
    kept = []
    for line in manifest["left_out"]:
        found = owner.match(line)
        if found is None or found[1] in manifest["steps"]:
            kept.append(line)
    manifest["left_out"] = kept
    all_records = list((manifest["steps"] | records).values())
    return files, manifest | describe_steps(settings, all_records)


def _copy_clean(
    settings: Profile, files: Sequence[Path], copy: Results, exempt: Iterable[str]
) -> list[str]:
    """Copy figures, tables and notebooks without what quotes a corpus; say what is left out.

    exempt: texts that may be quoted.
    """
    pieces: dict[str, list[str]] = {}
    for path in files:
        if not path.stem.endswith(runs.OF_TEXTS):
            pieces |= written(path)
    quoted = find_quotes(pieces, corpus_texts(settings), exempt)
    tables = runs.copy_tables(files, copy, quoted)
    vector = settings.name == runs.MAIN
    shown, figures = runs.copy_figures(files, copy, quoted, vector)
    runs.copy_values(files, copy)
    return [*tables, *figures, *runs.copy_notebooks(files, copy, quoted, shown)]


def missing_steps(profile: Profile, run: Results) -> list[str]:
    """Steps of a whole run whose record, executed notebook or files are not there."""
    incomplete = find_incomplete(run, discard=False)
    return [
        step
        for step in expected_steps(profile)
        if step in incomplete or not (run.record(step).exists() and run.executed(step).exists())
    ]


def _say_made(steps: Mapping[str, dict]) -> str:
    """A line for each commit and machine: its steps, networks by device, and what records note."""
    made = defaultdict(list)
    for name in sorted(steps):
        machine = steps[name].get("machine", {})
        parts = [machine[part] for part in ("processor", "accelerator") if part in machine]
        commit = steps[name].get("commit") or "unknown"
        made[", ".join([f"`{commit}`", *parts])].append(steps[name])
    said = []
    for where, records in made.items():
        kinds = Counter(record["notebook"] for record in records)
        devices: Counter[str] = Counter()
        for record in records:
            devices.update(record.get("devices", {}))
        named = [f"`{kind}`" + f" ({kinds[kind]})" * (kinds[kind] > 1) for kind in sorted(kinds)]
        facts = [", ".join(named)]
        if devices:
            trained = ", ".join(f"{name} {count}" for name, count in devices.items())
            facts.append(f"networks trained by device: {trained}")
        facts += sorted({record["note"] for record in records if "note" in record})
        said.append(f"- {where}: {'; '.join(facts)}")
    return "\n".join(said)


def _describe(profile: str, manifest: Mapping) -> str:
    """README.md of a committed run."""
    kinds = ", ".join(f"`*{kind}.csv`" for kind in runs.OF_TEXTS)
    told = f" Figures are PNG alone; those of `{runs.MAIN}`, which the site shows, are SVG, too."
    return f"""# The committed run of profile `{profile}`

Written by `attreval publish --profile {profile}`, never by hand. `notebooks/` holds the \
executed notebooks, `tables/` and `figures/` what they wrote, `values/` what they say of single \
texts, by id (`attreval claims --profile {profile} --committed --again` judges all claims by these \
alone), `claims.json` the verdicts, \
`manifest.json` versions, corpora with their hashes, seeds, machine, durations and evaluations. \
Verdicts with their reasons: [docs/fidelity.md](../../../docs/fidelity.md).

Its steps by commit and machine:

{_say_made(manifest["steps"])}

Tables of more than {runs.LONG_BYTES // 1000} kB keep {runs.DIGITS} digits of each fraction; \
those with a row for each single text ({kinds}) are left out.\
{told if profile != runs.MAIN else ""}

{NO_TEXT} Left out, or with ids in place of texts (`attreval fetch` brings them):

""" + "".join(f"- {line}\n" for line in manifest["left_out"] or ["nothing"])
