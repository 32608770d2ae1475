"""attreval publish: a whole run's tables, figures, claims, manifest and notebooks, into the repository."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import nbformat

from attreval.core.tables import write_json, write_whole
from compendium import config, project
from compendium.config import Profile
from compendium.papers.common.claims import scorecard
from compendium.project import Results
from compendium.site.publishing.fidelity import write_fidelity
from compendium.site.publishing.links import write_links
from compendium.site.publishing.machines import FILE, carry_over, describe_elsewhere, say_beside
from compendium.site.publishing.notebooks import clean_notebook
from compendium.site.publishing.pictures import shrink_png, shrink_svg
from compendium.site.publishing.pieces import describe_pieces, keep_earlier, read_committed, step_of, without
from compendium.site.publishing.places import committed
from compendium.site.publishing.proof import check_folder, corpus_texts, printed_by_papers, written
from compendium.site.publishing.quotes import find_quotes
from compendium.site.publishing.tables import OF_TEXTS, SINGLE_TEXTS, copy_tables, small_enough
from compendium.site.replace_folder import replace_folder
from compendium.workflow.manifest import make_manifest
from compendium.workflow.steps import expected_steps


def publish(profile: str, partial: bool = False, only: Sequence[str] = ()) -> Path:
    """Copy a profile's run into results/reference, without any corpus text; write docs/fidelity.md; give the folder.

    The folder changes as a whole, and only if nothing in it quotes a corpus. Steps that a partial run lacks stay as
    they were committed. only: names of steps, with * for any letters; all others stay as they were. ValueError: steps
    lack (unless partial), none is named so, or something is quoted; the message says where.
    FileNotFoundError: a task's table is not there to compare with.
    """
    settings = config.load(profile)
    run, place = project.results(settings.name), committed(settings.name)
    lacking = missing_steps(settings, run)
    if only:
        partial, lacking = True, steps_but(only, expected_steps(settings), lacking)
    if lacking and not partial:
        raise ValueError(
            f"the run of {settings.name!r} is not whole; it lacks {', '.join(lacking)}: "
            f"`attreval run --profile {profile}` makes them, and --partial publishes what is there"
        )
    exempt, steps = printed_by_papers(settings), expected_steps(settings)
    whole = [path for path in _files(run) if step_of(path.name, steps) not in lacking]
    notebooks, tables, figures = (
        [path for path in whole if path.suffix == kind] for kind in (".ipynb", ".csv", ".png")
    )
    files = [*notebooks, *small_enough(tables), *(path for path in whole if path.suffix == ".svg")]
    pieces = {place: text for path in sorted(files) for place, text in written(path)}
    quoted = find_quotes(pieces, corpus_texts(settings), exempt)
    place.root.parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(place.root) as folder:
        copy = Results(folder)
        left_out = copy_tables(tables, copy, quoted, settings, exempt)
        names, said = _copy_figures(figures, copy, quoted)
        left_out += said + _copy_notebooks(notebooks, copy, quoted, names)
        manifest = {**read_manifest(profile, run), "left_out": left_out}
        if lacking:
            manifest = keep_earlier(place, copy, without(manifest, lacking), settings)
        claims = claims_json(copy.tables)
        (folder / "claims.json").write_text(claims, encoding="utf-8")
        elsewhere = carry_over(place, json.loads(claims), manifest["steps"])
        write_json(folder / FILE, elsewhere)
        write_json(folder / "manifest.json", manifest)
        compared = describe_elsewhere(json.loads(claims), elsewhere)
        (folder / "README.md").write_text(_describe(settings, manifest, compared), encoding="utf-8")
        check_folder(folder, corpus_texts(settings), exempt)
    write_fidelity()
    write_links()
    return place.root


def publish_beside(profile: str) -> Path:
    """Note what a run says of the claims that are committed of its profile, as those of another machine.

    Nothing else of the committed run changes. Gives its folder. ValueError: none is committed, the run judges nothing
    that is, or it was made on the same kind of processor.
    """
    settings = config.load(profile)
    run, place = project.results(settings.name), committed(settings.name)
    if not (place.root / "claims.json").exists():
        raise ValueError(f"no run of {settings.name!r} is committed that another could be laid beside")
    elsewhere = say_beside(place, json.loads(claims_json(run.tables)), read_manifest(profile, run), settings)
    write_json(place.root / FILE, elsewhere)
    compared = describe_elsewhere(json.loads((place.root / "claims.json").read_text(encoding="utf-8")), elsewhere)
    with write_whole(place.root / "README.md") as part:
        part.write_text(_describe(settings, read_committed(place), compared), encoding="utf-8")
    write_fidelity()
    return place.root


def _files(run: Results) -> list[Path]:
    """Executed notebooks, tables and figures of a run."""
    kinds = {run.notebooks: "ipynb", run.tables: "csv"}
    found = [path for folder, kind in kinds.items() for path in folder.glob(f"[!.]*.{kind}")]
    return sorted([*found, *(path for kind in ("png", "svg") for path in run.figures.glob(f"[!.]*.{kind}"))])


def missing_steps(profile: Profile, run: Results) -> list[str]:
    """Steps of a whole run whose record, executed notebook or files are not there."""
    lacking = []
    for step in expected_steps(profile):
        record = run.record(step)
        files = json.loads(record.read_text(encoding="utf-8"))["files"] if record.exists() else []
        if not (record.exists() and run.executed(step).exists() and all((run.root / name).exists() for name in files)):
            lacking.append(step)
    return lacking


def steps_but(only: Sequence[str], steps: Sequence[str], lacking: Sequence[str]) -> list[str]:
    """All steps but those of these names that do not lack. ValueError for a name that no step at hand has."""
    at_hand = [step for step in steps if step not in lacking]
    for name in only:
        if not any(fnmatchcase(step, name) for step in at_hand):
            raise ValueError(f"no step is named {name!r}; at hand are: {', '.join(at_hand) or 'none'}")
    return [step for step in steps if step in lacking or not any(fnmatchcase(step, name) for name in only)]


def claims_json(tables: Path) -> str:
    """Every claim with its verdict, as `attreval claims --json` prints it."""
    return scorecard(tables).to_json(orient="records", indent=1, force_ascii=False) + "\n"


def read_manifest(profile: str, run: Results) -> dict:
    """The manifest of a run; made anew where it speaks of other steps than are there."""
    path = run.root / "manifest.json"
    steps = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in run.steps.glob("[!.]*.json")}
    if not path.exists() or json.loads(path.read_text(encoding="utf-8"))["steps"] != steps:
        make_manifest(profile)
    return json.loads(path.read_text(encoding="utf-8"))


def _copy_figures(
    figures: list[Path], copy: Results, quoted: Mapping[str, list[str]]
) -> tuple[dict[bytes, str | None], list[str]]:
    """Copy the figures that show no text. Gives the bytes of each PNG with its name, None for one left out; and what
    is left out. A PNG without its SVG cannot be read, and is left out."""
    copy.figures.mkdir()
    names, said = {}, []
    for path in figures:
        svg = path.with_suffix(".svg")
        shown = svg.exists() and svg.name not in quoted
        names[path.read_bytes()] = path.stem if shown else None
        if shown:
            (copy.figures / path.name).write_bytes(shrink_png(path.read_bytes()))
            (copy.figures / svg.name).write_text(shrink_svg(svg.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            why = (
                f"words of {', '.join(quoted[svg.name])}"
                if svg.exists()
                else "it has no SVG in which its words are told"
            )
            said.append(f"figure {path.stem}: {why}")
    return names, said


def _copy_notebooks(
    notebooks: list[Path], copy: Results, quoted: Mapping[str, list[str]], figures: Mapping[bytes, str | None]
) -> list[str]:
    """Copy the executed notebooks; say what of them is left out."""
    copy.notebooks.mkdir()
    said = []
    for path in notebooks:
        node, more = clean_notebook(path, quoted, figures)
        with write_whole(copy.notebooks / path.name) as part:
            nbformat.write(node, part)
        said += more
    return said


def _describe(settings: Profile, manifest: Mapping, compared: list[str]) -> str:
    """README.md of a committed run. compared: what is said of other machines."""
    lacking = [step for step in expected_steps(settings) if step not in manifest["steps"]]
    of_texts = [line for line in manifest["left_out"] if line.endswith(f": {SINGLE_TEXTS}")]
    left_out = [line for line in manifest["left_out"] if line not in of_texts]
    if of_texts:
        kinds = " and ".join(f"`*{kind}.csv`" for kind in OF_TEXTS)
        left_out = [f"tables with {SINGLE_TEXTS} ({kinds}): {len(of_texts)}", *left_out]
    lines = [
        f"# The committed run of profile `{settings.name}`",
        "",
        f"Written by `attreval publish --profile {settings.name}`, never by hand. `notebooks/` holds the executed "
        "notebooks, `tables/` and `figures/` what they wrote, `claims.json` the verdicts, `manifest.json` "
        "versions, corpora with their hashes, seeds, machine, durations and evaluations. Verdicts with their reasons: "
        "[docs/fidelity.md](../../../docs/fidelity.md).",
        "",
        *([f"Not a whole run; these steps lack: {', '.join(lacking)}.", ""] if lacking else []),
        *(line for said in (*describe_pieces(manifest), *compared) for line in (said, "")),
        "No sentence of any corpus is here but examples that the papers print. Left out, or with ids in place of texts "
        "(`attreval fetch` brings them):",
        "",
        *(f"- {line}" for line in left_out or ["nothing"]),
    ]
    return "\n".join(lines) + "\n"
