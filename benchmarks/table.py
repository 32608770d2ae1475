"""The table of a benchmark: medians, ratios and floors from measured lines; markdown for README, csv for the paper.

A ratio is the peer's seconds over ours on the same texts; its least and most are those of single repeats.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
TABLES = HERE.parent / "results" / "reference" / "benchmark"
MARKS = ("<!-- table: written by table.py -->", "<!-- end of the table -->")
OURS, FLOOR, DEFAULT = "ours", "floor", "default"
PEERS = ("ferret", "captum", "interpreto")
WHOLE = ("six", "faithfulness")  # what `whole` is the sum of
NAN = float("nan")
TITLES = {
    "gradient_l1": "Gradient",
    "gradient_x_input": "Gradient x Input",
    "integrated_gradients": "Integrated Gradients",
    "integrated_gradients_plain": "Integrated Gradients (plain)",
    "lime": "LIME",
    "partition_shap": "Partition SHAP",
    "six": "the six in company",
    "faithfulness": "comprehensiveness, sufficiency, tau",
    "whole": "the six, explained and judged",
    "kernel_shap": "Kernel SHAP",
    "occlusion": "Occlusion",
    "saliency": "Saliency",
    "insertion_deletion": "insertion and deletion",
}


@dataclass(frozen=True)
class Row:
    """One task beside one peer in one setting. Seconds, rows and tokens are of one text; NaN for what was not measured.

    setting: `default` or the peer's best (`best: batch 16`). ours_floors: our seconds over those that the machine needs
    for the tokens we ask for, at its best rates.
    """

    peer: str
    task: str
    setting: str
    texts: int
    repeats: int
    ours_seconds: float
    ours_least: float
    ours_most: float
    peer_seconds: float
    peer_least: float
    peer_most: float
    ratio: float
    ratio_least: float
    ratio_most: float
    ours_rows: float
    peer_rows: float
    ours_tokens: float
    peer_tokens: float
    ours_mb: float
    peer_mb: float
    ours_floors: float


@dataclass(frozen=True)
class Floor:
    """A rate of the machine, of the best repeat: GFLOP/s for gemm, tokens a second otherwise."""

    what: str
    setting: str
    rate: float


@dataclass(frozen=True)
class Growth:
    """Seconds a text where so many are explained in one go, by the six methods at small budgets; the peak of memory."""

    who: str
    texts: int
    seconds: float
    peak_mb: float


def title(what: str) -> str:
    """What the table calls a task: a budget at the end of its name goes into parentheses."""
    name, _, number = what.rpartition("_")
    return f"{TITLES.get(name, name)} ({number})" if number.isdigit() else TITLES.get(what, what)


def by_repeat(lines: Iterable[dict]) -> dict[tuple[str, str, str], dict[int, dict]]:
    """(who, what, setting) -> repeat -> line, with `whole` added where a repeat has all its parts."""
    found: dict[tuple[str, str, str], dict[int, dict]] = {}
    for line in lines:
        found.setdefault((line["who"], line["what"], line["setting"]), {})[line["repeat"]] = line
    for who in {who for who, _, _ in found}:
        parts = [found.get((who, what, DEFAULT), {}) for what in WHOLE]
        for repeat in set(parts[0]).intersection(*parts[1:]):
            those = [part[repeat] for part in parts]
            if len({one["texts"] for one in those}) == 1:
                whole = those[0] | {name: sum(one[name] for one in those) for name in ("seconds", "rows", "tokens")}
                whole["gradient_tokens"] = sum(one.get("gradient_tokens", 0) for one in those)
                whole |= {"what": "whole", "peak_mb": max(one["peak_mb"] for one in those)}
                found.setdefault((who, "whole", DEFAULT), {})[repeat] = whole
    return found


def floors(lines: Iterable[dict]) -> list[Floor]:
    """The best rate of each kind and setting, in the order measured."""
    best: dict[tuple[str, str], float] = {}
    for line in (line for line in lines if line["who"] == FLOOR):
        if line["what"] == "gemm":
            m, k, n = map(int, line["setting"].split("x"))
            rate = 2e-9 * m * k * n * line["texts"] / line["seconds"]
        else:
            rate = line["tokens"] / line["seconds"]
        key = (line["what"], line["setting"])
        best[key] = max(rate, best.get(key, 0.0))
    return [Floor(what, setting, rate) for (what, setting), rate in best.items()]


def best_rate(found: Sequence[Floor], what: str) -> float:
    """The best rate of a kind; NaN where it was not measured."""
    return max((floor.rate for floor in found if floor.what == what), default=NAN)


def compare(lines: Sequence[dict]) -> list[Row]:
    """A row for each peer, task and setting: the default, and the best where a peer was tried in several.

    Tasks that a peer has and we lack, or the other way round for all peers, have NaN on the side that is missing.
    """
    measured, rates = by_repeat(lines), floors(lines)
    rows = []
    for peer in sorted({who for who, _, _ in measured} - {OURS, FLOOR}, key=_place):
        for what in dict.fromkeys(what for who, what, _ in measured if who == peer and not what.startswith("growth_")):
            tried = {setting: runs for (who, task, setting), runs in measured.items() if (who, task) == (peer, what)}
            best = min(tried, key=lambda setting: median(_per_text(tried[setting], "seconds")))
            wanted = {setting: setting for setting in (DEFAULT,) if setting in tried}
            if len(tried) > 1:
                wanted[best] = f"best: {best}"
            for setting, shown in wanted.items():
                ours = measured.get((OURS, what, DEFAULT), {})
                rows.append(_row(peer, what, shown, ours, tried[setting], rates))
    met = {what for who, what, _ in measured if who not in (OURS, FLOOR)}
    for (who, what, _), runs in measured.items():
        if who == OURS and what not in met and not what.startswith("growth_"):
            rows.append(_row("", what, "", runs, {}, rates))
    return rows


def _row(peer: str, what: str, setting: str, ours: dict, theirs: dict, rates: Sequence[Floor]) -> Row:
    """One comparison of the runs by repeat of both sides."""
    a, b = ours, theirs
    ratios = [b[r]["seconds"] / b[r]["texts"] / (a[r]["seconds"] / a[r]["texts"]) for r in a.keys() & b.keys()]
    ours_seconds, peer_seconds = _spread(_per_text(a, "seconds")), _spread(_per_text(b, "seconds"))
    gradients = _middle([line.get("gradient_tokens", 0) / line["texts"] for line in a.values()])
    forwards = _middle(_per_text(a, "tokens")) - gradients
    floor = forwards / best_rate(rates, "forward")
    if gradients:
        floor += gradients / best_rate(rates, "gradient")
    any_line = next(iter((b or a).values()))
    return Row(
        peer,
        title(what),
        setting,
        any_line["texts"],
        len(ratios) or len(a) or len(b),
        *ours_seconds,
        *peer_seconds,
        peer_seconds[0] / ours_seconds[0],
        *_spread(ratios)[1:],
        *(_middle(_per_text(runs, name)) for name in ("rows", "tokens") for runs in (a, b)),
        *(_middle([line["peak_mb"] for line in runs.values()]) for runs in (a, b)),
        ours_seconds[0] / floor if floor else NAN,
    )


def growth(lines: Sequence[dict]) -> list[Growth]:
    """Medians over repeats of the runs over many texts, fewest texts first."""
    found = {key: runs for key, runs in by_repeat(lines).items() if key[1].startswith("growth_")}
    rows = []
    for (who, what, _), runs in found.items():
        seconds, peak = _middle(_per_text(runs, "seconds")), _middle([line["peak_mb"] for line in runs.values()])
        rows.append(Growth(who, int(what.removeprefix("growth_")), seconds, peak))
    return sorted(rows, key=lambda row: (row.who != OURS, row.who, row.texts))


def _place(peer: str) -> tuple[int, str]:
    """Peers in the order of PEERS, others behind them by name."""
    return (PEERS.index(peer) if peer in PEERS else len(PEERS), peer)


def _per_text(runs: dict[int, dict], name: str) -> list[float]:
    """A quantity of each repeat, of one text."""
    return [line[name] / line["texts"] for line in runs.values()]


def _middle(values: Sequence[float]) -> float:
    """The median; NaN of nothing."""
    return float(median(values)) if values else NAN


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, least and most; NaN of nothing."""
    return (_middle(values), min(values), max(values)) if values else (NAN, NAN, NAN)


def markdown(measured: dict) -> str:
    """All tables of a results file: where they come from, the comparison, floors and growth."""
    about, lines = measured["about"], measured["lines"]
    versions = "; ".join(
        f"{who}: " + ", ".join(f"{name} {version}" for name, version in found.items())
        for who, found in about["versions"].items()
    )
    seconds = "seconds of the wall" if any(line.get("clock") == "wall" for line in lines) else "processor seconds"
    blocks = [
        f"{about['processor']} ({about['kind']}), {about['threads']} thread; {about['texts']} texts, "
        f"{about['repeats']} interleaved repeats; {about['model']}. {versions}.",
        f"Of one text: {seconds}, median (least-most); a ratio above 1 says how many times less we cost.",
        _pipes(
            ("Peer", "Task", "Setting", "Ours", "Peer's", "Ratio", "Rows, ours : peer's", "Tokens", "MB", "Over floor"),
            [
                (
                    row.peer,
                    row.task,
                    row.setting,
                    _range(row.ours_seconds, row.ours_least, row.ours_most, 3),
                    _range(row.peer_seconds, row.peer_least, row.peer_most, 3),
                    _range(row.ratio, row.ratio_least, row.ratio_most, 2),
                    f"{_number(row.ours_rows, 0)} : {_number(row.peer_rows, 0)}",
                    f"{_number(row.ours_tokens, 0)} : {_number(row.peer_tokens, 0)}",
                    f"{_number(row.ours_mb, 0)} : {_number(row.peer_mb, 0)}",
                    _number(row.ours_floors, 2),
                )
                for row in compare(lines)
            ],
        ),
        "Floors: what the machine does at most with the same network.",
        _pipes(
            ("What", "Setting", "Rate", "Unit"),
            [
                (f.what, f.setting, _number(f.rate, 0), "GFLOP/s" if f.what == "gemm" else "tokens/s")
                for f in floors(lines)
            ],
        ),
    ]
    if grown := growth(lines):
        blocks += [
            "Growth: the six methods at small budgets over more and more texts.",
            _pipes(
                ("Who", "Texts", f"{seconds.capitalize()} a text", "MB"),
                [(row.who, str(row.texts), _number(row.seconds, 3), _number(row.peak_mb, 0)) for row in grown],
            ),
        ]
    return "\n\n".join(blocks) + "\n"


def _pipes(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, [":--"] * len(head), *rows))


def _number(value: float, digits: int) -> str:
    """A number, or a dash for what was not measured."""
    return "–" if value != value else f"{value:,.{digits}f}"


def _range(middle: float, least: float, most: float, digits: int) -> str:
    """A median with its least and most."""
    return f"{_number(middle, digits)} ({_number(least, digits)}-{_number(most, digits)})" if middle == middle else "–"


def write_tables(measured: dict, folder: Path) -> list[Path]:
    """The csv files that the paper reads: peers, floors and growth, each with the kind of machine in a column."""
    from attreval.core.tables import write_whole

    kind, paths = measured["about"]["kind"], []
    for name, make, record in (("peers", compare, Row), ("floors", floors, Floor), ("growth", growth, Growth)):
        paths.append(folder / f"benchmark_{name}_{kind}.csv")
        with write_whole(paths[-1]) as part, part.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, ["kind", *(field.name for field in fields(record))], lineterminator="\n")
            writer.writeheader()
            for row in make(measured["lines"]):
                known = {field: "" if value != value else value for field, value in asdict(row).items()}
                writer.writerow({"kind": kind} | known)
    return paths


def put_between_marks(text: str, table: str) -> str:
    """A page with the table between its two marks. ValueError where it has not exactly these two, in order."""
    start, end = MARKS
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise ValueError(f"the page needs the lines {start} and {end}, once each and in this order")
    before, _, rest = text.partition(start)
    return f"{before}{start}\n\n{table}\n{end}{rest.partition(end)[2]}"


def publish(path: Path) -> None:
    """Write the tables of a results file into README and for the paper."""
    from attreval.core.tables import write_whole

    measured = json.loads(path.read_text(encoding="utf-8"))
    page = HERE / "README.md"
    text = put_between_marks(page.read_text(encoding="utf-8"), markdown(measured))
    with write_whole(page) as part:
        part.write_text(text, encoding="utf-8")
    write_tables(measured, TABLES)


if __name__ == "__main__":
    import sys

    publish(Path(sys.argv[1]))
