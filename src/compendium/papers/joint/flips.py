"""Which methods flip? The place of each method among the others, by judge and kind of network."""

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from compendium.config import Profile
from compendium.papers.common.runs import RUN
from compendium.papers.common.scorecard import WIDTH
from compendium.papers.common.sentences import name_method, sentence
from compendium.papers.common.style import CurveEnd, draw_nothing, label_ends, use_style
from compendium.papers.common.tables import table_of
from compendium.papers.joint.lattice import facts_of
from compendium.papers.joint.values import JUDGES, judged

RECURRENT = "recurrent"
SCRATCH = "transformer, not pretrained"
ENCODER = "pretrained encoder"
BOTH = "pretrained encoder-decoder"
DECODER = "pretrained decoder"
# of networks, from left to right
KINDS = (RECURRENT, "convolutional", SCRATCH, ENCODER, BOTH, DECODER)
ALL = "all judges"
FLIPS = 0.4  # of the others, that a method passes or falls behind between RECURRENT and ENCODER
LOOKS = {"falls": "#D55E00", "rises": "#0072B2", "high": "#009E73", "": "#b5b5b5"}
SAID = {
    "falls": "falls from among the best to the worst",
    "rises": "rises from among the worst",
    "high": "better than half of the others on every kind, by every judge and task",
}


def kind_of_network(facts: Mapping[str, str]) -> str:
    """One of KINDS. facts: of `lattice.facts_of`."""
    if facts["kind"] != "attention":
        return facts["kind"].replace("quasi", RECURRENT)
    if facts["architecture"] == "encoder_decoder":
        return BOTH
    if facts["pretrained"] == "no":
        return SCRATCH
    return DECODER if facts["direction"] == "ahead" else ENCODER


def network_places(values: pd.DataFrame, accuracy: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """One row a task, judge (and ALL, each alike), network and method.

    kind: of KINDS. place: the share of the other methods that it beats under a metric of the judge,
    ties half, mean over metrics. Networks that are others' (erased otherwise) and those stopped
    early are left out.

    Args:
        values, accuracy: Of `crossed.make_design`.
        profile: The design, see `Profile.crossed_profile`.
    """
    means = judged(values).groupby([*RUN, "metric", "method"], sort=False).value.mean().dropna()
    column = means.groupby([*RUN, "metric"])
    beaten = (column.rank() - 1) / (column.transform("size") - 1)
    places = beaten.rename("place").reset_index()
    kinds = _kinds(accuracy, profile)
    read_by = places.task.map(profile.read_by)
    kind = pd.MultiIndex.from_arrays([read_by, places.model]).map(kinds)
    places = places.assign(judge=places.metric.map(JUDGES), kind=kind).dropna(subset="kind")
    key = [*RUN, "kind", "method"]
    by_judge = places.groupby(["judge", *key], sort=False).place.mean().reset_index()
    every = by_judge.groupby(key, sort=False).place.mean().reset_index()
    return pd.concat([every.assign(judge=ALL), by_judge], ignore_index=True)


@table_of("task judge method kind networks place lowest highest")
def places_table(places: pd.DataFrame) -> Iterator[tuple]:
    """One row a task, judge, method and kind of network.

    place: mean over networks; lowest, highest: of a network. places: of `network_places`.
    """
    key = ["task", "kind", "judge", "method"]
    for (task, kind, judge, method), part in places.groupby(key, sort=False):
        spread = (part.place.mean(), part.place.min(), part.place.max())
        yield task, judge, method, kind, len(part), *spread


def _kinds(accuracy: pd.DataFrame, profile: Profile) -> pd.Series:
    """By task and model its kind, of networks that were trained whole and erase as usual."""
    kinds = {}
    for row in accuracy.drop_duplicates(["task", "model"]).itertuples():
        facts = facts_of(profile, row.task, row.model, row.layers, row.causal)
        if facts["training"] == "whole" and not profile.models[row.model].same_as:
            kinds[row.task, row.model] = kind_of_network(facts)
    return pd.Series(kinds, dtype=str)


def flips_of(places: pd.DataFrame) -> pd.Series:
    """By method its place with ENCODER less that with RECURRENT, mean over tasks and networks."""
    wide = _by_kind(places, [ENCODER, RECURRENT])
    return (wide[ENCODER] - wide[RECURRENT]).dropna().sort_values()


def _by_kind(places: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """A row a method, a column a kind: places by all judges, mean over tasks."""
    every = places[places.judge == ALL]
    wide = every.pivot_table(index="method", columns="kind", values="place")
    return wide.reindex(columns=list(kinds))


def _look(least: float, flip: float) -> str:
    """Of LOOKS. least: a method's lowest place, by any judge on any kind of network."""
    if abs(flip) > FLIPS:
        return "falls" if flip < 0 else "rises"
    return "high" if least > 0.5 else ""


def draw_flips(places: pd.DataFrame) -> Axes:
    """A slope a method over kinds of networks, mean over judges and tasks.

    Coloured: methods whose place with a pretrained encoder is FLIPS from that with recurrent
    networks, and those that no judge on any kind and task puts below half.
    """
    use_style()
    flips = flips_of(places)
    if flips.empty:
        return draw_nothing(f"no {RECURRENT} network and {ENCODER} to compare")
    kinds = [kind for kind in KINDS if (places.kind == kind).any()]
    wide = _by_kind(places, kinds)
    figure, axes = plt.subplots(figsize=(WIDTH, 4.6))
    ends = []
    named = defaultdict(list)
    least = places[places.judge != ALL].groupby("method").place.min()
    for method, flip in flips.items():
        name = name_method(method)
        slope = wide.loc[method]
        look = _look(least[method], flip)
        named[look].append(name)
        width = 2.2 if look else 0.9
        front = 3 if look else 2
        colour = LOOKS[look]
        axes.plot(range(len(kinds)), slope, color=colour, lw=width, marker="o", ms=3, zorder=front)
        ends.append(CurveEnd(name, len(kinds) - 1, slope.iloc[-1], colour if look else "#6b6b6b"))
    networks = places.groupby("kind").networks.max()
    named_kinds = [f"{textwrap.fill(kind, 15)}\n({networks[kind]})" for kind in kinds]
    axes.set_xticks(range(len(kinds)), named_kinds)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("kind of network (how many, on one task)", fontsize=9)
    axes.set(ylim=(0, 1), xlim=(-0.15, len(kinds) - 0.85))
    axes.set_ylabel("share of the other methods that it beats", fontsize=9)
    for look, said in SAID.items():
        label = "\n".join(textwrap.wrap(f"{said}: {', '.join(named[look]) or 'none'}", 112))
        axes.plot([], color=LOOKS[look], lw=2.2, label=label)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.1, 1), fontsize=8)
    figure.tight_layout(rect=(0, 0, 0.73, 1))
    label_ends(axes, ends, 7.5)
    return axes


@sentence
def say_flips(places: pd.DataFrame) -> str:
    """Which methods fall and which rise from recurrent networks to a pretrained encoder."""
    flips = flips_of(places)
    parts = []
    for said, some in (("fall", flips[flips < -FLIPS]), ("rise", flips[::-1][flips[::-1] > FLIPS])):
        named = [f"{name_method(method)} ({flip:+.2f})" for method, flip in some.items()]
        parts.append(f"{said}: {', '.join(named) or 'none'}")
    said = f"from recurrent networks to a pretrained encoder {'; '.join(parts)}"
    return said if len(flips) else ""
