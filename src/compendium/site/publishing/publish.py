"""attreval publish: a whole run's tables, figures, claims, manifest and notebooks, into the repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from attreval.core.tables import write_json
from compendium import config, project
from compendium.config import Profile
from compendium.project import Results
from compendium.site.publishing.copying import DIGITS, LONG_BYTES, OF_TEXTS, copy_figures, copy_notebooks, copy_tables
from compendium.site.publishing.fidelity import write_fidelity
from compendium.site.publishing.links import write_links
from compendium.site.publishing.places import ELSEWHERE, claims_json, committed, read_elsewhere
from compendium.site.publishing.proof import check_folder, written
from compendium.site.publishing.quotes import corpus_texts, find_quotes, printed_by_papers
from compendium.site.replace_folder import replace_folder
from compendium.workflow.manifest import make_manifest
from compendium.workflow.steps import expected_steps


def publish(profile: str) -> Path:
    """Copy a profile's whole run into results/reference, without any corpus text; write docs/fidelity.md and links.

    The folder changes as a whole, and only if nothing in it quotes a corpus. Gives the folder.

    Raises:
        ValueError: steps of the run are missing, or something in it is quoted; the message says which, and where.
        FileNotFoundError: a task's table is not there to compare with.
    """
    settings = config.load(profile)
    run, place = project.results(settings.name), committed(settings.name)
    if missing := missing_steps(settings, run):
        raise ValueError(
            f"the run of {settings.name!r} is not whole; these steps are missing: {', '.join(missing)}. "
            f"`attreval run --profile {profile}` makes them"
        )
    make_manifest(profile)
    exempt = printed_by_papers(settings)
    files = [*run.notebooks.glob("[!.]*.ipynb"), *run.tables.glob("[!.]*.csv"), *run.figures.glob("[!.]*.svg")]
    pieces = {where: text for path in sorted(files) if _is_read(path) for where, text in written(path).items()}
    quoted = find_quotes(pieces, corpus_texts(settings), exempt)
    place.root.parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(place.root) as folder:
        copy = Results(folder)
        shown, figures = copy_figures(run, copy, quoted)
        left_out = [*copy_tables(run, copy, quoted), *figures, *copy_notebooks(run, copy, quoted, shown)]
        manifest = json.loads((run.root / "manifest.json").read_text(encoding="utf-8")) | {"left_out": left_out}
        write_json(folder / "manifest.json", manifest)
        (folder / "claims.json").write_text(claims_json(copy.tables), encoding="utf-8")
        if there := [row for row in read_elsewhere(place) if row["processor"] not in _processor(manifest)]:
            write_json(folder / ELSEWHERE, there)
        (folder / "README.md").write_text(_describe(settings.name, manifest), encoding="utf-8")
        check_folder(folder, corpus_texts(settings), exempt)
    write_fidelity()
    write_links()
    return place.root


def _is_read(path: Path) -> bool:
    """Whether a file may be committed at all; of tables of single texts nobody asks what they quote."""
    return not path.stem.endswith(OF_TEXTS)


def _processor(manifest: Mapping) -> str:
    """The processor that a run was made on."""
    return manifest.get("machine", {}).get("processor", "")


def missing_steps(profile: Profile, run: Results) -> list[str]:
    """Steps of a whole run whose record, executed notebook or files are not there."""

    def is_whole(step: str) -> bool:
        if not (run.record(step).exists() and run.executed(step).exists()):
            return False
        files = json.loads(run.record(step).read_text(encoding="utf-8"))["files"]
        return all((run.root / name).exists() for name in files)

    return [step for step in expected_steps(profile) if not is_whole(step)]


def _describe(profile: str, manifest: Mapping) -> str:
    """README.md of a committed run."""
    kinds = " and ".join(f"`*{kind}.csv`" for kind in OF_TEXTS)
    lines = [
        f"# The committed run of profile `{profile}`",
        "",
        f"Written by `attreval publish --profile {profile}`, never by hand. `notebooks/` holds the executed "
        "notebooks, `tables/` and `figures/` what they wrote, `claims.json` the verdicts, `manifest.json` "
        "versions, corpora with their hashes, seeds, machine, durations and evaluations. Verdicts with their reasons: "
        "[docs/fidelity.md](../../../docs/fidelity.md).",
        "",
        f"Tables of more than {LONG_BYTES // 1000} kB keep {DIGITS} digits of each fraction; those with a row for each "
        f"single text ({kinds}) are left out.",
        "",
        "No sentence of any corpus is here but examples that the papers print. Left out, or with ids in place of texts "
        "(`attreval fetch` brings them):",
        "",
        *(f"- {line}" for line in manifest["left_out"] or ["nothing"]),
    ]
    return "\n".join(lines) + "\n"
