"""What moves an order of methods? Pairs of networks, by the things in which the two differ.

Two networks that differ in one thing alone tell what this thing does; two seeds of one, what
training anew does. Some things are told apart within one kind of layers alone: a recurrent network
is as deep as its text is long, and a convolution has no direction.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations, product

import numpy as np
import pandas as pd

from attreval.metrics.rank_correlation import FEWEST, tau_b
from compendium.config import Profile
from compendium.config.sections import FAMILY
from compendium.papers.common.sentences import sentence
from compendium.papers.common.tables import table_of
from compendium.papers.joint.values import ATTENTIVE, JUDGES

FACTS = {  # of a network: what it is called in a sentence
    "kind": "kind of layers",
    "architecture": "architecture",
    "direction": "direction of reading",
    "layers": "number of layers",
    "tokens": "words or pieces",
    "vectors": "input vectors",
    "pretrained": "pretrained layers",
    "erasing": "what erasing does",
    "training": "end of training",
}
WITHIN_KIND = ("architecture", "direction", "layers")
SEVERAL = "several"
NOTHING = "nothing"
Network = tuple[str, int]  # model, seed
Orders = dict[Network, np.ndarray]  # (metrics, methods) means, NaN for what was not measured


def facts_of(profile: Profile, task: str, model: str, layers: int, causal: bool) -> dict[str, str]:
    """FACTS of a network.

    Args:
        profile: The design, see `Profile.crossed_profile`.
        task, model: Of the network.
        layers, causal: As `crossed.train_crossed` found them.
    """
    spec = profile.models[model]
    attends = spec.architecture in ATTENTIVE
    usual = "pad"
    if attends:  # unless the profile says something else
        usual = "most like nothing" if causal else "mask by methods, pad by metrics"
    enough = profile.training_of(profile.read_by(task), model).enough
    cut = spec.tokenizer or spec.weights or "words"
    return {
        "kind": "attention" if attends else FAMILY[spec.architecture],
        "architecture": spec.architecture,
        "direction": "ahead" if causal or not spec.bidirectional else "both",
        "layers": str(layers),
        "tokens": cut if cut == "words" else f"pieces of {cut}",
        "vectors": spec.weights or spec.start or spec.embeddings or "scratch",
        "pretrained": "yes" if spec.weights else "in part" if spec.start else "no",
        "erasing": spec.erase or usual,
        "training": f"until {enough:g}" if enough else "whole",
    }


def things_moved(first: dict[str, str], second: dict[str, str]) -> list[str]:
    """The FACTS in which two networks differ."""
    apart = [name for name in FACTS if first[name] != second[name]]
    return [name for name in apart if "kind" not in apart or name not in WITHIN_KIND]


@table_of(f"task first second {' '.join(FACTS)} moved networks correlation retrained")
def lattice_table(means: pd.DataFrame, accuracy: pd.DataFrame, profile: Profile) -> Iterator[tuple]:
    """One row a task and pair of models: what they share, and how alike they order the methods.

    Args:
        means: Of `crossed.network_means`.
        accuracy: Of `crossed.make_design`.
        profile: The design, see `Profile.crossed_profile`.

    FACTS: what both have, or what the first and the second have. moved: those in which they differ.
    correlation: tau-b of two networks' means under one metric, mean over the metrics of judges and
    over pairs of networks; where two models are one network, erased in two ways, of the same seed.
    retrained: the same of two seeds of one of the models.
    """
    shapes = accuracy.drop_duplicates(["task", "model"]).set_index(["task", "model"])
    told = means[(means.method != "random") & (means.metric.map(JUDGES) != "")]
    for task, part in told.groupby("task", sort=False):
        orders = _orders_of(part)
        seeds = {model: [one for one in orders if one[0] == model] for model in part.model.unique()}
        facts = {}
        for model in seeds:
            shape = shapes.loc[(profile.read_by(task), model)]
            facts[model] = facts_of(profile, task, model, shape.layers, shape.causal)
        for first, second in combinations(seeds, 2):
            names = {profile.models[name].same_as or name for name in (first, second)}
            every = product(seeds[first], seeds[second])
            pairs = [(a, b) for a, b in every if len(names) == 2 or a[1] == b[1]]
            anew = [*combinations(seeds[first], 2), *combinations(seeds[second], 2)]
            both = [(facts[first][name], facts[second][name]) for name in FACTS]
            cells = [a if a == b else f"{a} / {b}" for a, b in both]
            moved = ", ".join(things_moved(facts[first], facts[second])) or NOTHING
            alike = (_mean_tau(orders, pairs), _mean_tau(orders, anew))
            yield task, first, second, *cells, moved, len(pairs), *alike


def _orders_of(part: pd.DataFrame) -> Orders:
    """What each network of a task gives each method under each metric."""
    wide = part.pivot(index=["model", "seed", "metric"], columns="method", values="mean")
    metrics = part.metric.unique()
    return {
        network: rows.droplevel(["model", "seed"]).reindex(metrics).to_numpy()
        for network, rows in wide.groupby(level=["model", "seed"], sort=False)
    }


def _mean_tau(orders: Orders, pairs: Iterable[tuple[Network, Network]]) -> float:
    """Mean tau-b of pairs of networks over metrics that both have; NaN of too few methods."""
    found = []
    for a, b in pairs:
        both = orders[a] + orders[b]
        methods = ~np.isnan(both).all(axis=0)
        if methods.sum() >= FEWEST:
            found += tau_b(orders[a][:, methods], orders[b][:, methods]).tolist()
    return float(pd.Series(found, dtype=float).mean())


@table_of("moved tasks pairs correlation lowest highest retrained lost")
def moved_table(lattice: pd.DataFrame) -> Iterator[tuple]:
    """One row a thing that is moved alone, and one of the pairs that differ in SEVERAL.

    Each two kinds of layers are a thing of their own. lattice: of `lattice_table`. correlation,
    retrained: mean over its pairs of models; lost: the second less the first, of the pairs that
    have both.
    """
    known = lattice[lattice.correlation.notna()]
    kinds = known.kind.str.split(" / ").map(sorted).str.join(" / ")
    moved = known.moved.mask(known.moved == "kind", kinds)
    for name, part in known.groupby(moved.mask(moved.str.contains(","), SEVERAL)):
        tau = part.correlation
        ends = (tau.mean(), tau.min(), tau.max(), part.retrained.mean())
        yield name, part.task.nunique(), len(part), *ends, (part.retrained - tau).mean()


@sentence
def say_lattice(lattice: pd.DataFrame) -> str:
    """How many pairs of models differ in one thing at most, and how alike they and others are."""
    several = lattice.moved.str.contains(",")
    tau = lattice.correlation
    return (
        f"{(~several).sum()} of {len(lattice)} pairs of models differ in one thing at most; they "
        f"order the methods alike by {tau[~several].mean():.2f} (tau-b), the others by "
        f"{tau[several].mean():.2f}, two seeds of one model by {lattice.retrained.mean():.2f}"
    )


@sentence
def say_moved(moved: pd.DataFrame) -> str:
    """What moves an order most where it is moved alone, and what least."""
    alone = moved[~moved.moved.isin([SEVERAL, NOTHING])].sort_values("correlation")
    said = [
        f"{FACTS.get(row.moved, row.moved)} ({row.correlation:.2f})" for row in alone.itertuples()
    ]
    return f"moved alone, what leaves least of an order first: {', '.join(said)}" if said else ""
