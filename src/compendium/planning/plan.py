"""The plan of a profile: what each step asks (work), priced by what a token costs on this machine (unit_costs)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from compendium.config import Profile
from compendium.planning.counting import NEEDED
from compendium.planning.planner import FAMILIES, Work
from compendium.planning.texts import known_texts
from compendium.planning.unit_costs import Rates, start_seconds
from compendium.planning.work import list_work

SIDE_BY_SIDE = ("05_kamp2023_seeds", "06_zhao2023", "07_sun2024", "08_joint")  # these start several processes
GIB = 2**30
BASE = {True: 0.75, False: 0.35}  # GiB of a process that has loaded transformers, or not, before any weights
KEPT = 16  # floats a token, layer and unit of width that a backward pass keeps, about


@dataclass(frozen=True)
class Priced:
    """One row of a plan: a notebook for one task and model. tokens: that models read, training included.

    seconds: of a processor, of all its steps. memory: GiB at the peak of one process.
    """

    notebook: str
    task: str
    model: str
    steps: int
    texts: int
    evaluations: int
    gradients: int
    tokens: int
    seconds: float
    memory: float


@dataclass(frozen=True)
class Plan:
    """rows: in the workflow's order. made_up: tasks whose texts are not at hand. workers: steps side by side; threads:
    of each."""

    profile: str
    rows: list[Priced]
    made_up: list[str]
    workers: int
    threads: int

    @property
    def processor_hours(self) -> float:
        """Of all steps."""
        return sum(row.seconds for row in self.rows) / 3600

    @property
    def wall_hours(self) -> float:
        """Of a machine with a core for every thread of every worker, if none ever waits."""
        return self.processor_hours / (self.workers * self.threads)

    def to_json(self) -> dict:
        """The plan as plain values; seconds and GiB are rounded."""
        rows = [vars(row) | {"seconds": round(row.seconds, 1), "memory": round(row.memory, 2)} for row in self.rows]
        totals = {"processor_hours": round(self.processor_hours, 3), "wall_hours": round(self.wall_hours, 3)}
        about = {"profile": self.profile, "workers": self.workers, "threads": self.threads, "made_up": self.made_up}
        return about | totals | {"rows": rows}

    def table(self) -> list[dict[str, str]]:
        """Its rows for people, and their sum."""
        counts = ("steps", "texts", "evaluations", "gradients", "tokens")
        rows = [
            {"step": row.notebook, "task": row.task, "model": row.model}
            | {name: f"{getattr(row, name):,}" for name in counts}
            | {"minutes": f"{row.seconds / 60:.1f}", "GiB": f"{row.memory:.1f}"}
            for row in self.rows
        ]
        sums = {name: f"{sum(getattr(row, name) for row in self.rows):,}" for name in counts}
        most = max(row.memory for row in self.rows)
        total = {"step": "all", "task": "", "model": ""} | sums
        return [*rows, total | {"minutes": f"{60 * self.processor_hours:.1f}", "GiB": f"{most:.1f}"}]

    def notes(self) -> list[str]:
        """What the table does not say."""
        out = [
            f"{self.processor_hours:.2f} processor hours; {self.wall_hours:.2f} hours on a core for each of "
            f"{self.workers} workers x {self.threads} threads, if none waits",
            "evaluations and tokens are those computed; no training stops early, paths that may grow take "
            f"{NEEDED} nodes; downloads and the site are not in it",
        ]
        if self.made_up:
            out.append(
                f"lengths declared, since their tables are not at hand (attreval fetch): {', '.join(self.made_up)}"
            )
        return out


def make_plan(profile: Profile, read: Callable | None = None, notify: Callable[[str], None] | None = None) -> Plan:
    """The plan of a profile. read: see work.Planner. notify: is told which step is looked at.

    ValueError for weights whose shape is not known here.
    """
    from compendium.workflow.step import set_threads

    set_threads(profile.threads)

    @cache
    def rates(model: str) -> Rates:
        return Rates(profile.models[model], 2, profile.device)  # how many classes there are costs nothing

    rows = []
    for work in list_work(profile, read):
        if notify:
            notify(" ".join(part for part in (work.notebook, work.task, work.model) if part))
        rows.append(price(work, profile, rates))
    made_up = [t for t in profile.read_tasks() if not known_texts(t, "test")[1]]
    return Plan(profile.name, rows, made_up, profile.workers, profile.threads)


def price(work: Work, profile: Profile, rates: Callable[[str], Rates]) -> Priced:
    """What some work costs. rates: model -> what a token of it costs."""
    asks = bool(work.model) or work.notebook in SIDE_BY_SIDE
    processes = profile.workers if work.notebook in SIDE_BY_SIDE else 1
    seconds = work.own + work.steps * processes * start_seconds(asks)
    memory = BASE[asks]
    if work.model:
        rate = rates(work.model)
        for (what, *key), count in work.passes.items():
            seconds += count * rate.seconds(what, *key)
        for (precision, length, rows), count in work.training.items():
            seconds += count * rate.seconds(f"train {precision}", length, rows)
        memory = _memory(work, profile, rate)
    numbers = (round(work.evaluations), round(work.gradients), round(work.tokens))
    return Priced(work.notebook, work.task, work.model, work.steps, work.texts, *numbers, seconds, memory)


def _memory(work: Work, profile: Profile, rate: Rates) -> float:
    """GiB at the peak: the process, its copies of the weights, and what a backward pass keeps of its largest batch."""
    spec, network = profile.models[work.model], rate.model.network
    weights = sum(p.numel() for p in network.parameters()) * 4
    words = spec.architecture in FAMILIES
    # weights, gradients, two moments, the running average and its copies; else the weights and a faster copy
    copies, batch = (6, max(length * rows for _, length, rows in work.training)) if work.training else (1.5, 1024)
    return BASE[not words] + (copies * weights + batch * rate.depth * rate.width * 4 * KEPT) / GIB
