"""attreval publish: a whole run's tables, figures, claims, manifest and notebooks, into the repository.

They are smaller there, without corpus texts, and with nothing of the machine.
"""

from __future__ import annotations

import base64
import fnmatch
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat

from attreval.core.tables import write_json
from compendium import config, project
from compendium.config import Profile
from compendium.project import Results, replace_folder
from compendium.site.committed import (
    ELSEWHERE,
    MAIN,
    SOURCE,
    claims_json,
    committed,
    read_elsewhere,
    without_links,
    write_links,
)
from compendium.site.fidelity import write_fidelity
from compendium.site.pictures import draw_note
from compendium.site.quotes import (
    check_folder,
    corpus_texts,
    find_quotes,
    outputs_of,
    printed_by_papers,
    written,
)
from compendium.workflow.manifest import make_manifest
from compendium.workflow.steps import expected_steps

LONG_BYTES = 50_000  # from here on a table's numbers are cut to so many digits
DIGITS = 6
MOST_BYTES = 6_000_000  # of a table with all digits; about half of that is committed
OF_TEXTS = ("_instances", "_predictions")  # large tables that no number, figure or claim of the site is made from
LONG_NUMBER = re.compile(r"(?<![\w#.-])-?\d+\.\d{3,}(?:e-?\d+)?(?![\w.])")
COLOURS = 128
KEPT = ("text/html", "text/markdown", "text/plain", "image/png")
OF_THE_RUN = ("papermill", "execution", "widgets", "vscode", "ExecuteTime")
LINK = re.compile(r"(?<=\]\()\.\./([^)]+)(?=\))")
UP = "../../../.."  # the project folder, as seen from a committed notebook
NO_TEXT = "No sentence of any corpus is here but examples that the papers print."
SHOWS_TEXT = "This figure shows a text of a corpus; it is left out of the committed copy."
Quoted = Mapping[str, list[str]]  # place, as quotes.written names it -> ids of the texts that it quotes


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
    place.root.parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(place.root) as folder:
        left_out = _copy_clean(settings, run, Results(folder), exempt)
        manifest = json.loads((run.root / "manifest.json").read_text(encoding="utf-8")) | {"left_out": left_out}
        processor = manifest.get("machine", {}).get("processor", "")
        if there := [row for row in read_elsewhere(place) if row["processor"] not in processor]:
            write_json(folder / ELSEWHERE, there)
        _finish(settings, folder, manifest, _describe(settings.name, left_out), exempt)
    return _linked(place)


def publish_steps(profile: str, steps: Sequence[str]) -> Path:
    """Put some steps of a run beside the others of the committed run, or in place of what they committed before.

    For a study of its own, or one paper anew, that a machine runs without the rest of the profile; the rest, and the
    settings that it had, stay as they are. steps: names, or patterns of names such as `02_train-*`. Gives the folder.

    Raises:
        FileNotFoundError: a step has not run here, or a task's table is not there to compare with.
        ValueError: something in the folder would be quoted.
    """
    settings = config.load(profile)
    run, place = project.results(settings.name), committed(settings.name)
    here = sorted(path.stem for path in run.steps.glob("[!.]*.json"))
    names = sorted({name for step in steps for name in fnmatch.filter(here, step) or [step]})
    records = {name: json.loads(run.existing(run.record(name), name).read_text(encoding="utf-8")) for name in names}
    exempt = printed_by_papers(settings)
    with replace_folder(place.root) as folder, TemporaryDirectory() as alone:
        shutil.copytree(place.root, folder, dirs_exist_ok=True)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        only = Results(Path(alone))
        for name, record in records.items():
            for file in manifest["steps"].get(name, {"files": []})["files"]:
                (folder / file).unlink(missing_ok=True)
            files = [run.root / file for file in record["files"] if file.startswith(("tables/", "figures/"))]
            for path in [run.executed(name), *files]:
                target = only.root / path.relative_to(run.root)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
        said = _copy_clean(settings, only, Results(folder), exempt)
        manifest["left_out"] = list(dict.fromkeys([*manifest["left_out"], *said]))
        manifest["steps"] = dict(sorted((manifest["steps"] | records).items()))
        manifest["settings"] = settings.model_dump() | manifest["settings"]
        for total in ("seconds", "processor_seconds"):
            manifest[total] = round(sum(one[total] for one in manifest["steps"].values()), 1)
        text = _say_alone((folder / "README.md").read_text(encoding="utf-8"), records)
        text += "".join(f"- {line}\n" for line in said if f"- {line}\n" not in text)
        _finish(settings, folder, manifest, text, exempt)
    return _linked(place)


def _say_alone(text: str, records: Mapping[str, dict]) -> str:
    """README.md of a committed run with a line on steps that are published by themselves. records: by step."""
    kinds = Counter(record["notebook"] for record in records.values())
    named = [f"`{kind}` ({count})" if count > 1 else f"`{kind}`" for kind, count in kinds.items()]
    about = f"{', '.join(named)} {'was' if len(records) == 1 else 'were'} published by "
    text = re.sub(rf"^{re.escape(about)}.*\n\n", "", text, flags=re.MULTILINE)
    commits = ", ".join(dict.fromkeys(f"`{record.get('commit', 'unknown')}`" for record in records.values()))
    dates = sorted({record["finished"][:10] for record in records.values()})
    about += "itself" if len(records) == 1 else "themselves"
    about += f": commit {commits}, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}"
    devices: Counter[str] = sum((Counter(record.get("devices", {})) for record in records.values()), Counter())
    if devices:
        about += "; networks trained by device: " + ", ".join(f"{name} {count}" for name, count in devices.items())
    return text.replace(NO_TEXT, f"{about}.\n\n{NO_TEXT}")


def _copy_clean(settings: Profile, run: Results, copy: Results, exempt: list[str]) -> list[str]:
    """Copy figures, tables and notebooks without what quotes a corpus; say what is left out.

    exempt: texts that may be quoted.
    """
    files = [*run.notebooks.glob("[!.]*.ipynb"), *run.tables.glob("[!.]*.csv"), *run.figures.glob("[!.]*.svg")]
    pieces = [written(path) for path in sorted(files) if not path.stem.endswith(OF_TEXTS)]
    quoted = find_quotes({where: text for one in pieces for where, text in one.items()}, corpus_texts(settings), exempt)
    shown, figures = copy_figures(run, copy, quoted, vector=settings.name == MAIN)
    return [*copy_tables(run, copy, quoted), *figures, *copy_notebooks(run, copy, quoted, shown)]


def _finish(settings: Profile, folder: Path, manifest: dict, readme: str, exempt: list[str]) -> None:
    """Write what describes the committed run; ValueError where anything in it quotes a corpus."""
    write_json(folder / "manifest.json", manifest)
    (folder / "claims.json").write_text(claims_json(Results(folder).tables), encoding="utf-8")
    (folder / "README.md").write_text(readme, encoding="utf-8")
    check_folder(folder, corpus_texts(settings), exempt)


def _linked(place: Results) -> Path:
    """The folder of a committed run, once docs/fidelity.md and the links to it are written."""
    write_fidelity()
    write_links()
    return place.root


def missing_steps(profile: Profile, run: Results) -> list[str]:
    """Steps of a whole run whose record, executed notebook or files are not there."""

    def is_whole(step: str) -> bool:
        if not (run.record(step).exists() and run.executed(step).exists()):
            return False
        files = json.loads(run.record(step).read_text(encoding="utf-8"))["files"]
        return all((run.root / name).exists() for name in files)

    return [step for step in expected_steps(profile) if not is_whole(step)]


def copy_tables(run: Results, copy: Results, quoted: Quoted) -> list[str]:
    """Copy the tables that are small enough and quote nothing; say which are left out."""
    copy.tables.mkdir(exist_ok=True)
    said = []
    for path in sorted(run.tables.glob("[!.]*.csv")):
        size = path.stat().st_size
        if path.stem.endswith(OF_TEXTS):
            said.append(f"table {path.name}: a row for each single text")
        elif size > MOST_BYTES:
            said.append(f"table {path.name}: {size / 1e6:.1f} MB")
        elif path.name in quoted:
            said.append(f"table {path.name}: words of {_name(quoted[path.name])}")
        else:
            text = path.read_text(encoding="utf-8")
            if size > LONG_BYTES:
                text = LONG_NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text)
            (copy.tables / path.name).write_text(text, encoding="utf-8")
    return said


def copy_figures(run: Results, copy: Results, quoted: Quoted, vector: bool = True) -> tuple[set[bytes], list[str]]:
    """Copy the figures that show no text; give the bytes of these PNGs, and what is left out.

    A PNG without its SVG cannot be read, and is left out. vector: copy the SVGs, too; the main run's alone are shown.
    """
    copy.figures.mkdir(exist_ok=True)
    shown, said = set(), []
    for path in sorted(run.figures.glob("[!.]*.png")):
        svg = path.with_suffix(".svg")
        if not svg.exists():
            said.append(f"figure {path.stem}: it has no SVG in which its words are told")
        elif svg.name in quoted:
            said.append(f"figure {path.stem}: words of {_name(quoted[svg.name])}")
        else:
            shown.add(path.read_bytes())
            (copy.figures / path.name).write_bytes(shrink_png(path.read_bytes()))
            if vector:
                (copy.figures / svg.name).write_text(shrink_svg(svg.read_text(encoding="utf-8")), encoding="utf-8")
    return shown, said


def shrink_png(data: bytes, part: int = 1) -> bytes:
    """The same picture with few colours, on white, without anything said about it. part: 2 makes it half as wide."""
    from PIL import Image

    shown = Image.open(io.BytesIO(data)).convert("RGBA")
    page = Image.new("RGBA", shown.size, "white")
    page.alpha_composite(shown)
    small = page.convert("RGB").reduce(part)
    small = small.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    small.save(out, "png", optimize=True)
    return out.getvalue()


def shrink_svg(text: str) -> str:
    """The same picture with two digits behind each point, and without names that nothing uses."""
    text = re.sub(r"(?<![\w#.-])-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)
    used = set(re.findall(r"#([\w-]+)", text))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)


def copy_notebooks(run: Results, copy: Results, quoted: Quoted, shown: set[bytes]) -> list[str]:
    """Copy the executed notebooks; say which of their outputs are left out. shown: the PNGs that are committed."""
    copy.notebooks.mkdir(exist_ok=True)
    said = []
    for path in sorted(run.notebooks.glob("[!.]*.ipynb")):
        node, more = clean_notebook(path, quoted, shown)
        nbformat.write(node, copy.notebooks / path.name)
        said += more
    return said


def clean_notebook(path: Path, quoted: Quoted, shown: set[bytes]):
    """An executed notebook as it is committed, and what was left out of it, in words.

    A picture that is no committed figure of the run cannot be shown to hold no text, and is left out.
    """
    node, said = nbformat.read(path, as_version=4), []
    for place, output in outputs_of(node, path.stem):
        if place in quoted:
            names = _name(quoted[place])
            html = f"<p><em>Not in the committed copy: words of <code>{names}</code>.</em></p>"
            told = {"text/html": html, "text/plain": f"Not in the committed copy: words of {names}."}
            output.clear()
            output.update(nbformat.v4.new_output("display_data", told))
            said.append(f"{place}: words of {names}")
        elif "data" in output:
            output.data = {kind: held for kind, held in output.data.items() if kind in KEPT}
            if "image/png" in output.data:
                data = base64.b64decode(output.data["image/png"])
                if data not in shown:
                    said.append(f"{place}: its picture")
                    data, output.metadata = draw_note(SHOWS_TEXT, dpi=200), {}
                output.data["image/png"] = base64.b64encode(shrink_png(data, part=2)).decode()  # as wide as it is shown
    for holder in (node, *node.cells):
        for name in OF_THE_RUN:
            holder.metadata.pop(name, None)
    for cell in node.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(lambda found: f"{UP}/{found[1]}", without_links(cell.source))
        elif cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    source = path.stem.partition("-")[0]
    node.cells[0].source += f"\n\n{SOURCE} [notebooks/{source}.ipynb]({UP}/notebooks/{source}.ipynb)"
    return node, said


def _name(texts: list[str]) -> str:
    """The ids of quoted texts, three of them if there are many."""
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def _describe(profile: str, left_out: list[str]) -> str:
    """README.md of a committed run."""
    kinds = " and ".join(f"`*{kind}.csv`" for kind in OF_TEXTS)
    pictures = (
        f" Figures are PNG alone; those of `{MAIN}`, which the site shows, are SVG, too." if profile != MAIN else ""
    )
    return f"""# The committed run of profile `{profile}`

Written by `attreval publish --profile {profile}`, never by hand. `notebooks/` holds the executed notebooks, `tables/` \
and `figures/` what they wrote, `claims.json` the verdicts, `manifest.json` versions, corpora with their hashes, \
seeds, machine, durations and evaluations. Verdicts with their reasons: [docs/fidelity.md](../../../docs/fidelity.md).

Tables of more than {LONG_BYTES // 1000} kB keep {DIGITS} digits of each fraction; those with a row for each single \
text ({kinds}) are left out.{pictures}

{NO_TEXT} Left out, or with ids in place of texts \
(`attreval fetch` brings them):

""" + "".join(f"- {line}\n" for line in left_out or ["nothing"])
