"""The table of a benchmark: markdown for README and csv for the paper, from a file of measured
lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from comparing import Floor, Growth, Row, compare, floors, growth

HERE = Path(__file__).resolve().parent
TABLES = HERE.parent / "results" / "reference" / "benchmark"
MARKS = ("<!-- table: written by table.py -->", "<!-- end of the table -->")


def markdown(measured: dict) -> str:
    """All tables of a results file: where they come from, the comparison, floors and growth."""
    about = measured["about"]
    lines = measured["lines"]
    versions = "; ".join(
        f"{who}: " + ", ".join(f"{name} {version}" for name, version in found.items())
        for who, found in about["versions"].items()
    )
    wall = any(line.get("clock") == "wall" for line in lines)
    seconds = "seconds of the wall" if wall else "processor seconds"
    head = [
        "Peer",
        "Task",
        "Setting",
        "Ours",
        "Peer's",
        "Ratio",
        "Rows, ours : peer's",
        "Tokens",
        "MB",
        "Over floor",
    ]
    blocks = [
        f"{about['processor']} ({about['kind']}), {about['threads']} thread; {about['texts']} "
        "texts, "
        f"{about['repeats']} interleaved repeats; {about['model']}. {versions}.",
        f"Of one text: {seconds}, median (least-most); a ratio above 1 says how many times less "
        "we cost.",
        _pipes(
            [*head, *(["Texts/s"] if wall else [])], [_cells(row, wall) for row in compare(lines)]
        ),
        "Floors: what the machine does at most with the same network.",
        _pipes(
            ("What", "Setting", "Rate", "Unit"),
            [
                (
                    f.what,
                    f.setting,
                    _number(f.rate, 0),
                    "GFLOP/s" if f.what == "gemm" else "tokens/s",
                )
                for f in floors(lines)
            ],
        ),
    ]
    if grown := growth(lines):
        blocks += [
            "Growth: the six methods at small budgets over more and more texts.",
            _pipes(
                ("Who", "Texts", f"{seconds.capitalize()} a text", "MB"),
                [
                    (row.who, str(row.texts), _number(row.seconds, 3), _number(row.peak_mb, 0))
                    for row in grown
                ],
            ),
        ]
    return "\n\n".join(blocks) + "\n"


def _cells(row: Row, wall: bool) -> list[str]:
    """A comparison as the cells of its row; wall: with texts a second at the end."""
    cells = [
        row.peer,
        row.task,
        row.setting,
        _range(row.ours_seconds, row.ours_least, row.ours_most, 3),
        _range(row.peer_seconds, row.peer_least, row.peer_most, 3),
        _range(row.ratio, row.ratio_least, row.ratio_most, 2),
        *_both(
            (row.ours_rows, row.peer_rows),
            (row.ours_tokens, row.peer_tokens),
            (row.ours_mb, row.peer_mb),
        ),
        _number(row.ours_floors, 2),
    ]
    return [
        *cells,
        *(_both((1 / row.ours_seconds, 1 / row.peer_seconds), digits=1) if wall else []),
    ]


def _both(*pairs: tuple[float, float], digits: int = 0) -> list[str]:
    """Ours beside the peer's."""
    return [f"{_number(a, digits)} : {_number(b, digits)}" for a, b in pairs]


def _pipes(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, [":--"] * len(head), *rows))


def _number(value: float, digits: int) -> str:
    """A number, or a dash for what was not measured."""
    return "–" if value != value else f"{value:,.{digits}f}"


def _range(middle: float, least: float, most: float, digits: int) -> str:
    """A median with its least and most."""
    return (
        f"{_number(middle, digits)} ({_number(least, digits)}-{_number(most, digits)})"
        if middle == middle
        else "–"
    )


def write_tables(measured: dict, folder: Path) -> list[Path]:
    """The csv files that the paper reads: peers, floors and growth, each with the machine, and of
    how much.
    """
    import pandas as pd

    from attreval.core.tables import write_csv

    about = measured["about"]
    paths = []
    for name, make, record in (
        ("peers", compare, Row),
        ("floors", floors, Floor),
        ("growth", growth, Growth),
    ):
        paths.append(folder / f"benchmark_{name}_{about['kind']}.csv")
        rows = pd.DataFrame(
            map(asdict, make(measured["lines"])), columns=[field.name for field in fields(record)]
        )
        rows.insert(0, "kind", about["kind"])
        rows.insert(1, "processor", about["processor"])
        for column in ("repeats", "texts"):
            if column not in rows:
                rows.insert(2, column, about[column])
        write_csv(paths[-1], rows)
    return paths


def put_between_marks(text: str, table: str) -> str:
    """A page with the table between its two marks. ValueError where it has not exactly these two,
    in order.
    """
    start, end = MARKS
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise ValueError(f"the page needs the lines {start} and {end}, once each and in this order")
    before, _, rest = text.partition(start)
    return f"{before}{start}\n\n{table}\n{end}{rest.partition(end)[2]}"


def whole_runs() -> list[dict]:
    """What the whole runs measured, of every machine."""
    paths = sorted((HERE / "results").glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def publish() -> None:
    """Write the tables of every whole run into README and for the paper."""
    from attreval.core.tables import write_whole

    page = HERE / "README.md"
    text = put_between_marks(
        page.read_text(encoding="utf-8"), "\n".join(map(markdown, whole_runs()))
    )
    with write_whole(page) as part:
        part.write_text(text, encoding="utf-8")
    for measured in whole_runs():
        write_tables(measured, TABLES)


if __name__ == "__main__":
    publish()
