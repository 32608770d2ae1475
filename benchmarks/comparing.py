"""What measured lines say: a comparison for each task and peer, the machine's floors, growth over
texts.

A ratio is the peer's seconds over ours on the same texts; its least and most are those of single
repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

OURS = "ours"
FLOOR = "floor"
DEFAULT = "default"
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
    """One task beside one peer in one setting. Seconds, rows and tokens are of one text; NaN for
    what was not measured.

    setting: `default` or the peer's best (`best: batch 16`). ours_floors: our seconds over those
    that the machine needs for the tokens we ask for, at its best rates.
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
    """Seconds a text where so many are explained in one go, by the six methods at small budgets;
    the peak of memory.
    """

    who: str
    texts: int
    seconds: float
    peak_mb: float


def title(what: str) -> str:
    """What the table calls a task: a budget at the end of its name goes into parentheses."""
    name, _, number = what.rpartition("_")
    return f"{TITLES.get(name, name)} ({number})" if number.isdigit() else TITLES.get(what, what)


def by_repeat(lines: Iterable[dict]) -> dict[tuple[str, str, str], dict[int, dict]]:
    """(who, what, setting) -> repeat -> line, with `whole` added where a repeat has all
    its parts.
    """
    found: dict[tuple[str, str, str], dict[int, dict]] = {}
    for line in lines:
        found.setdefault((line["who"], line["what"], line["setting"]), {})[line["repeat"]] = line
    for who in {who for who, _, _ in found}:
        parts = [found.get((who, what, DEFAULT), {}) for what in WHOLE]
        for repeat in set(parts[0]).intersection(*parts[1:]):
            those = [part[repeat] for part in parts]
            if len({one["texts"] for one in those}) == 1:
                whole = those[0] | {
                    name: sum(one[name] for one in those) for name in ("seconds", "rows", "tokens")
                }
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
    """A row for each peer, task and setting: the default, and the best where a peer was tried in
    several.

    Tasks that a peer has and we lack, or the other way round for all peers, have NaN on the side
    that is missing.
    """
    measured = by_repeat(lines)
    rates = floors(lines)
    rows = []
    for peer in sorted({who for who, _, _ in measured} - {OURS, FLOOR}, key=_place):
        for what in dict.fromkeys(
            what for who, what, _ in measured if who == peer and not what.startswith("growth_")
        ):
            tried = {
                setting: runs
                for (who, task, setting), runs in measured.items()
                if (who, task) == (peer, what)
            }
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


def _row(
    peer: str, what: str, setting: str, ours: dict, theirs: dict, rates: Sequence[Floor]
) -> Row:
    """One comparison of the runs by repeat of both sides."""
    a = ours
    b = theirs
    ratios = [
        b[r]["seconds"] / b[r]["texts"] / (a[r]["seconds"] / a[r]["texts"])
        for r in a.keys() & b.keys()
    ]
    ours_seconds = _spread(_per_text(a, "seconds"))
    peer_seconds = _spread(_per_text(b, "seconds"))
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
        seconds = _middle(_per_text(runs, "seconds"))
        peak = _middle([line["peak_mb"] for line in runs.values()])
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
