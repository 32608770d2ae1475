"""Tables as they are committed: without corpus texts, long ones with fewer digits, none that is too large."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from compendium.config import Profile
from compendium.project import Results
from compendium.site.publishing.proof import corpus_texts
from compendium.site.publishing.quotes import find_quotes

LONG_BYTES = 50_000  # from here on a table's numbers are cut to so many digits
DIGITS = 6
MOST_BYTES = 6_000_000  # of a table with all digits; about half of that is committed
OF_TEXTS = ("_instances", "_predictions")  # large tables that no number, figure or claim of the site is made from
SINGLE_TEXTS = "a row for each single text"
FRACTION = re.compile(rf"-?\d+\.\d{{{DIGITS},}}(e-?\d+)?")


def small_enough(tables: Iterable[Path]) -> list[Path]:
    """The tables that are committed if they quote nothing: none of single texts, none that is too large."""
    return [path for path in tables if path.stat().st_size <= MOST_BYTES and not path.stem.endswith(OF_TEXTS)]


def shorten(cell: str) -> str:
    """A fraction with as many digits as a long table keeps; anything else as it is."""
    return f"{float(cell):.{DIGITS}g}" if FRACTION.fullmatch(cell) else cell


def copy_tables(
    tables: Iterable[Path], copy: Results, quoted: Mapping[str, list[str]], settings: Profile, exempt: list[str]
) -> list[str]:
    """Copy tables; say what of them is left out."""
    copy.tables.mkdir(exist_ok=True)
    said = []
    for path in sorted(tables):
        of_table = {place: names for place, names in quoted.items() if place.startswith(f"{path.name}, ")}
        columns = [place.partition(", column ")[2] for place in of_table if ", column " in place]
        if path.stem.endswith(OF_TEXTS):
            said.append(f"table {path.name}: {SINGLE_TEXTS}")
        elif path.stat().st_size > MOST_BYTES:
            said.append(f"table {path.name}: {path.stat().st_size / 1e6:.1f} MB")
        elif of_table and not columns:
            said.append(f"table {path.name}: words of {', '.join(*of_table.values())}")
        elif columns:
            text = _without_texts(path, columns, settings, exempt)
            (copy.tables / path.name).write_text(text, encoding="utf-8")
            said.append(f"table {path.name}: the texts of column {', '.join(columns)}")
        elif path.stat().st_size > LONG_BYTES:
            (copy.tables / path.name).write_text(_with_fewer_digits(path), encoding="utf-8")
            said.append(f"table {path.name}: digits of its numbers beyond {DIGITS}")
        else:
            shutil.copyfile(path, copy.tables / path.name)
    return said


def _with_fewer_digits(path: Path) -> str:
    """A table with shortened fractions."""
    out = io.StringIO()
    with path.open(encoding="utf-8", newline="") as handle:
        csv.writer(out, lineterminator="\n").writerows(map(shorten, row) for row in csv.reader(handle))
    return out.getvalue()


def _without_texts(path: Path, columns: list[str], settings: Profile, exempt: list[str]) -> str:
    """A table whose cells that quote a text hold its id; columns whose cells quote one only together are left out."""
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    pieces = {f"{column}\n{at}": row[column] for column in columns for at, row in enumerate(rows)}
    cells = find_quotes(pieces, corpus_texts(settings), exempt)
    for place, names in cells.items():
        column, _, at = place.partition("\n")
        rows[int(at)][column] = f"[{', '.join(names)}]"
    together = {column for column in columns if not any(place.startswith(f"{column}\n") for place in cells)}
    out = io.StringIO()
    kept = [column for column in rows[0] if column not in together]
    writer = csv.DictWriter(out, kept, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
