"""Committed runs: where they lie, and links to their notebooks.

And a run's files as they are committed: smaller, without corpus texts, with nothing of the machine.
"""

import base64
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import nbformat
import pandas as pd

from attreval.core.tables import write_text, write_whole
from compendium import project
from compendium.project import Results, step_name
from compendium.site.pictures import SHOWS_TEXT, judged_claims, say_no_figure
from compendium.site.quotes import outputs_of
from compendium.site.tables import html_with_titles
from compendium.workflow.parameters import NOTEBOOKS

CONTROLS = "controls"
# profile -> folder below results/reference, the main run first
COMMITTED = {"reference": "full", "quick": "quick", CONTROLS: "controls"}
MAIN = next(iter(COMMITTED))  # which the site shows
OWN = "quick"  # the profile of a run here, where none is named
ELSEWHERE = "elsewhere.json"
LEAD = "**Executed:**"  # begin lines of a notebook's first cell
SOURCE = "**Source:**"
ROW = re.compile(
    r"^\| `(?P<name>\d\d_\w+)` \| (?P<question>[^|\n]+?) \|(?:[^|\n]*\|)?$", re.MULTILINE
)
# from here on a table's numbers are cut to so many digits; not of claims, which are made again
LONG_BYTES = 10_000
UNCLAIMED = "08_joint"  # begins the names of values that no claim is made from
DIGITS = 6
MOST_BYTES = 5_000_000  # of a table with all digits; three quarters of that would be committed
# tables that nothing of the site is made from
OF_TEXTS = ("_instances", "_predictions", "_uninformed", "_heads")
LONG_NUMBER = re.compile(r"(?<![\w#.-])-?\d+\.\d{3,}(?:e-?\d+)?(?![\w.])")
COLOURS = 128
KEPT = ("text/html", "text/markdown", "text/plain", "image/png")
OF_THE_RUN = ("papermill", "execution", "widgets", "vscode", "ExecuteTime")
LINK = re.compile(r"(?<=\]\()\.\./([^)]+)(?=\))")
UP = "../../../.."  # the project folder, as seen from a committed notebook
# place, as quotes.written names it -> ids of the texts that it quotes
Quoted = Mapping[str, list[str]]


def committed(profile: str) -> Results:
    """The committed copy of a profile's run; ValueError for a profile of which none is there."""
    if profile not in COMMITTED:
        raise ValueError(
            f"of profile {profile!r} no run is committed; of these there are: "
            f"{', '.join(COMMITTED)}"
        )
    return Results(project.home() / "results" / "reference" / COMMITTED[profile])


def committed_runs() -> dict[str, Results]:
    """The committed runs that are there, by profile, the main one first."""
    places = {profile: committed(profile) for profile in COMMITTED}
    return {
        profile: place for profile, place in places.items() if (place.root / "claims.json").exists()
    }


def read_elsewhere(run: Results) -> list[dict]:
    """What other machines said of a committed run's claims, with processor, commit and date."""
    path = run.root / ELSEWHERE
    return project.read_json(path) if path.exists() else []


def claims_json(tables: Path) -> str:
    """Every claim with its verdict, as `attreval claims --json` prints it; none of controls."""
    claims = judged_claims(tables)
    if claims.empty:
        return "[]\n"
    return claims.to_json(orient="records", indent=1, force_ascii=False) + "\n"


def link_line(notebook: str, start: Path) -> str:
    """Links to a notebook's executed copies, relative to the folder `start`; "" where none is.

    Of a notebook that ran several times in a profile, the link leads to the run with the
    notebook's own parameters, if there is one.
    """
    shown = []
    for profile, run in committed_runs().items():
        own = run.executed(step_name(notebook, *NOTEBOOKS[notebook]().run()))
        there = {own, *run.notebooks.glob(f"{notebook}-*.ipynb")}
        copies = sorted(filter(Path.exists, there), key=lambda path: (path != own, path))
        if copies:
            more = len(copies) - 1
            folder = f" and [{more} more]({os.path.relpath(run.notebooks, start)})" if more else ""
            shown.append(f"[{profile}]({os.path.relpath(copies[0], start)}){folder}")
    return ", ".join(shown)


def write_links() -> list[Path]:
    """Bring the links in the notebooks and docs/notebooks.md up to date; return changed files.

    Links decide nothing in a notebook's step, so the file keeps its time and nothing runs again.
    """
    home = project.home()
    changed = []
    for path in (home / "notebooks" / f"{name}.ipynb" for name in NOTEBOOKS):
        if not path.exists():
            continue
        node = nbformat.read(path, as_version=4)
        first = node.cells[0]
        links = link_line(path.stem, path.parent)
        source = without_links(first.source) + (f"\n\n{LEAD} {links}" if links else "")
        if source == first.source:
            continue
        first.source = source
        times = path.stat()
        with write_whole(path) as part:
            nbformat.write(node, part)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        changed.append(path)
    table = home / "docs" / "notebooks.md"
    text = table.read_text(encoding="utf-8") if table.exists() else ""

    def with_links(row: re.Match[str]) -> str:
        links = link_line(row["name"], table.parent)
        return f"| `{row['name']}` | {row['question']} | {links} |"

    new = ROW.sub(with_links, text)
    if new != text:
        write_text(table, new)
        changed.append(table)
    return changed


def without_links(source: str) -> str:
    """A notebook's first cell without its links to executed copies, or to its source."""
    lines = [line for line in source.splitlines() if not line.startswith((LEAD, SOURCE))]
    return "\n".join(lines).rstrip()


def _only(files: Iterable[Path], suffix: str) -> list[Path]:
    return sorted(path for path in files if path.suffix == suffix)


def copy_tables(files: Sequence[Path], copy: Results, quoted: Quoted) -> list[str]:
    """Copy the tables that are small enough and quote nothing; say which are left out."""
    copy.tables.mkdir(exist_ok=True)
    said = []
    for path in _only(files, ".csv"):
        size = path.stat().st_size
        if path.stem.endswith(OF_TEXTS):
            said.append(f"table {path.name}: a row for each single text")
        elif size > MOST_BYTES:
            said.append(f"table {path.name}: {size / 1e6:.1f} MB")
        elif path.name in quoted:
            said.append(f"table {path.name}: words of {_name(quoted[path.name])}")
        else:
            text = path.read_text("utf-8")
            if size > LONG_BYTES and "_claims" not in path.stem:
                text = cut_numbers(text)
            write_text(copy.tables / path.name, text)
    return said


def cut_numbers(text: str) -> str:
    """A table with so many digits of each fraction as long tables are committed with."""
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text)


def copy_values(files: Sequence[Path], copy: Results) -> None:
    """Copy what is said of single texts; single precision will do where no claim is made of it."""
    copy.values.mkdir(exist_ok=True)
    for path in _only(files, ".parquet"):
        frame = pd.read_parquet(path)
        if path.name.startswith(UNCLAIMED):
            numbers = frame.select_dtypes("float64").columns
            frame = frame.astype(dict.fromkeys(numbers, "float32"))
        frame.to_parquet(copy.values / path.name, compression="zstd", index=False)


def copy_figures(
    files: Sequence[Path], copy: Results, quoted: Quoted, vector: bool
) -> tuple[set[bytes], list[str]]:
    """Copy the figures that show no text; return the bytes of these PNGs, and what is left out.

    A PNG without its SVG cannot be read, and is left out. vector: copy the SVGs, too.
    """
    copy.figures.mkdir(exist_ok=True)
    shown = set()
    said = []
    for path in _only(files, ".png"):
        svg = path.with_suffix(".svg")
        if not svg.exists():
            said.append(f"figure {path.stem}: it has no SVG in which its words are told")
        elif svg.name in quoted:
            said.append(f"figure {path.stem}: words of {_name(quoted[svg.name])}")
        else:
            shown.add(path.read_bytes())
            (copy.figures / path.name).write_bytes(shrink_png(path.read_bytes()))
            if vector:
                write_text(copy.figures / svg.name, shrink_svg(svg.read_text("utf-8")))
    return shown, said


def shrink_png(data: bytes, part: int = 1) -> bytes:
    """The picture with few colours, on white, without metadata. part: 2 makes it half as wide."""
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
    """The picture with points to a tenth of their unit, and without names that nothing uses."""

    def rounded(found: re.Match[str]) -> str:
        return f"{float(found[0]):.1f}".removesuffix(".0")

    def shortened(tag: re.Match[str]) -> str:
        return re.sub(r"(?<![\w#.-])-?\d+\.\d{3,}", rounded, tag[0])

    text = re.sub(r"<[^>]*>", shortened, text)  # what stands between tags is shown
    used = set(re.findall(r"#([\w-]+)", text))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)


def copy_notebooks(
    files: Sequence[Path], copy: Results, quoted: Quoted, shown: set[bytes]
) -> list[str]:
    """Copy the executed notebooks; say which of their outputs are left out.

    shown: the PNGs that are committed.
    """
    copy.notebooks.mkdir(exist_ok=True)
    said = []
    for path in _only(files, ".ipynb"):
        node, more = clean_notebook(path, quoted, shown)
        nbformat.write(node, copy.notebooks / path.name)
        said += more
    return said


def clean_notebook(
    path: Path, quoted: Quoted, shown: set[bytes]
) -> tuple[nbformat.NotebookNode, list[str]]:
    """An executed notebook as it is committed, and what was left out of it, in words.

    Nobody can tell that a picture holds no text unless it is a committed figure of the run: it is
    left out.
    """
    node = nbformat.read(path, as_version=4)
    said = []
    for place, output in outputs_of(node, path.stem):
        instead = None
        if place in quoted:
            names = _name(quoted[place])
            absent = "Not in the committed copy: words of"
            told = {"text/html": f"<p><em>{absent} <code>{names}</code>.</em></p>"}
            told["text/plain"] = f"{absent} {names}."
            instead = nbformat.v4.new_output("display_data", told)
            said.append(f"{place}: words of {names}")
        elif "data" in output:
            output.data = {kind: held for kind, held in output.data.items() if kind in KEPT}
            if html := output.data.get("text/html"):
                output.data["text/html"] = html_with_titles("".join(html))
            picture = base64.b64decode(output.data.get("image/png", ""))
            if picture in shown:  # half as wide: as it is shown
                output.data["image/png"] = base64.b64encode(shrink_png(picture, part=2)).decode()
            elif picture:
                said.append(f"{place}: its picture")
                instead = say_no_figure(SHOWS_TEXT)
        if instead:
            output.clear()
            output.update(instead)
    strip_run(node)
    for cell in node.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(lambda found: f"{UP}/{found[1]}", cell.source)
    source = path.stem.partition("-")[0]
    link = f"[notebooks/{source}.ipynb]({UP}/notebooks/{source}.ipynb)"
    node.cells[0].source += f"\n\n{SOURCE} {link}"
    return node, said


def strip_run(node: nbformat.NotebookNode) -> None:
    """Take the machine's traces, and links to executed copies, out of an executed notebook."""
    for holder in (node, *node.cells):
        for name in OF_THE_RUN:
            holder.metadata.pop(name, None)
    for cell in node.cells:
        if cell.cell_type == "markdown":
            cell.source = without_links(cell.source)
        elif cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]


def _name(texts: list[str]) -> str:
    """The ids of quoted texts, three of them if there are many."""
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
