"""What moves an order of methods? Pairs of networks, by the things in which the two differ.

Two networks that differ in one thing alone tell what this thing does; two seeds of one, what
training anew does. Some things are told apart within one kind of layers alone: a recurrent network
is as deep as its text is long, and a convolution has no direction.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from attreval.core.bootstrap import draw_counts, mean_of_known
from attreval.core.seeds import generator
from attreval.metrics.rank_correlation import FEWEST, tau_b
from compendium.config import Profile
from compendium.config.sections import FAMILY
from compendium.papers.common.sentences import sentence
from compendium.papers.common.tables import table_of
from compendium.papers.joint.values import ATTENTIVE, judged

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
NOTHING = "nothing"
SEVERAL = "several"
RETRAINED = "retrained"
ERASING = "erasing"
STAYS = (
    0.25  # of columns: where two seeds order a pair of methods otherwise in fewer, it has an order
)
TURNS = 0.5  # of columns: where more order a pair otherwise, its order is turned
Network = tuple[str, int]  # model, seed
# (1 + draws, metrics, methods) means, NaN for what was not measured
Orders = dict[Network, np.ndarray]


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


class Compared(NamedTuple):
    """How alike the networks of each two models of a task order the methods.

    pairs: one row a pair of models, see `compare_models`. alike, retrained: (p, 1 + draws) of the
    texts, and of drawn ones: mean tau-b of the models' networks, and of two seeds of one of them.
    """

    pairs: pd.DataFrame
    alike: np.ndarray
    retrained: np.ndarray


def compare_models(
    values: pd.DataFrame, accuracy: pd.DataFrame, profile: Profile, draws: int
) -> Compared:
    """Each two models of a task: what they share, and how alike they order the methods.

    Two networks are compared by tau-b of their methods' means under one metric of the judges, mean
    over the metrics and over pairs of networks; where two models are one network, erased in two
    ways, of the same seed.

    Args:
        values, accuracy: Of `crossed.make_design`.
        profile: The design, see `Profile.crossed_profile`.
        draws: How often texts are drawn.
    """
    every = [
        one
        for task, part in judged(values).groupby("task", sort=False)
        for one in _compare_in_task(task, part, accuracy, profile, draws)
    ]
    rows, alike, retrained = zip(*every, strict=True) if every else ((), (), ())
    columns = ["task", "first", "second", *FACTS, "moved", "networks"]
    shape = (-1, 1 + draws)
    found = (np.reshape(alike, shape), np.reshape(retrained, shape))
    return Compared(pd.DataFrame(rows, columns=columns), *found)


def _compare_in_task(
    task: str, values: pd.DataFrame, accuracy: pd.DataFrame, profile: Profile, draws: int
) -> Iterator[tuple[tuple, np.ndarray, np.ndarray]]:
    """The row, and tau-b of two networks and of two seeds, of each two models."""
    shapes = accuracy[accuracy.task == profile.read_by(task)].drop_duplicates("model")
    orders = _orders_of(values, draws, task)
    seeds: dict[str, list[Network]] = {}
    for network in orders:
        seeds.setdefault(network[0], []).append(network)
    facts = {}
    for shape in shapes[shapes.model.isin(seeds)].itertuples():
        facts[shape.model] = facts_of(profile, task, shape.model, shape.layers, shape.causal)
    for first, second in combinations(seeds, 2):
        names = {profile.models[name].same_as or name for name in (first, second)}
        every = product(seeds[first], seeds[second])
        pairs = [(a, b) for a, b in every if len(names) == 2 or a[1] == b[1]]
        anew = [*combinations(seeds[first], 2), *combinations(seeds[second], 2)]
        both = [(facts[first][name], facts[second][name]) for name in FACTS]
        cells = [a if a == b else f"{a} / {b}" for a, b in both]
        moved = ", ".join(things_moved(facts[first], facts[second])) or NOTHING
        row = (task, first, second, *cells, moved, len(pairs))
        yield row, _mean_tau(orders, pairs), _mean_tau(orders, anew)


def _orders_of(values: pd.DataFrame, draws: int, task: str) -> Orders:
    """What each network gives each method under each metric: of the texts, and of drawn ones."""
    index = ["model", "seed", "metric", "method"]
    cells = values.pivot(index=index, columns="instance", values="value")
    texts = cells.shape[1]
    drawn = draw_counts(generator("lattice", task), texts, draws)
    weights = np.vstack([np.ones(texts), drawn]).T
    with np.errstate(invalid="ignore"):
        means = (cells.fillna(0) @ weights) / (cells.notna().astype(float) @ weights)
    metrics = values.metric.unique()
    methods = values.method.unique()
    cells_of_network = pd.MultiIndex.from_product([metrics, methods])
    orders = {}
    for network in values[["model", "seed"]].drop_duplicates().itertuples(index=False, name=None):
        of_network = means.loc[network].reindex(cells_of_network).to_numpy()
        of_draws = of_network.reshape(len(metrics), len(methods), 1 + draws)
        orders[network] = np.moveaxis(of_draws, -1, 0)
    return orders


def _mean_tau(orders: Orders, pairs: Iterable[tuple[Network, Network]]) -> np.ndarray:
    """(1 + draws,) tau-b, mean over metrics and pairs of networks; NaN of too few methods."""
    draws = len(next(iter(orders.values())))
    found = [np.full((1, draws), np.nan)]
    for a, b in pairs:
        methods = ~np.isnan(orders[a][0] + orders[b][0]).all(axis=0)
        if methods.sum() >= FEWEST:
            found.append(tau_b(orders[a][..., methods], orders[b][..., methods]).T)
    return mean_of_known(np.concatenate(found))


def lattice_table(compared: Compared, confidence: float) -> pd.DataFrame:
    """One row a task and pair of models.

    FACTS: what both have, or what the first and the second have. moved: those in which they differ.
    networks: how many pairs of them. correlation: how alike they order the methods, with its
    interval over texts; retrained: how alike two seeds of one of the models do.
    """
    low, high = _interval(compared.alike.T, confidence)
    numbers = {"correlation": compared.alike[:, 0], "low": low, "high": high}
    return compared.pairs.assign(**numbers, retrained=compared.retrained[:, 0])


def _interval(drawn: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Normal, of (1 + draws, ...): orders of drawn texts are less alike, since they are noisier."""
    half = norm.ppf((1 + confidence) / 2) * drawn[1:].std(axis=0)
    return drawn[0] - half, drawn[0] + half


@table_of("task moved title pairs correlation lowest highest retrained lost low high")
def moved_table(compared: Compared, confidence: float) -> Iterator[tuple]:
    """One row a task and a thing that is moved alone.

    Each two kinds of layers are a thing of their own. correlation, retrained: mean over its pairs
    of models; lost: the second less the first, of the pairs that have both, with its interval over
    texts.
    """
    moved = _moved_alone(compared.pairs)
    alone = (moved != SEVERAL) & ~np.isnan(compared.alike[:, 0])
    for (task, name), part in compared.pairs[alone].groupby(["task", moved]):
        tau = compared.alike[part.index]
        retrained = compared.retrained[part.index]
        lost = mean_of_known(retrained - tau)
        own = tau[:, 0]
        ends = (own.mean(), own.min(), own.max())
        again = mean_of_known(retrained)[0]
        interval = _interval(lost, confidence)
        yield task, name, FACTS.get(name, name), len(part), *ends, again, lost[0], *interval


def _moved_alone(pairs: pd.DataFrame) -> pd.Series:
    """What is moved alone between each two models, two kinds of layers by name; or SEVERAL."""
    kinds = pairs.kind.str.split(" / ").map(sorted).str.join(" / ")
    moved = pairs.moved.mask(pairs.moved == "kind", kinds)
    return moved.mask(moved.str.contains(","), SEVERAL)


@table_of("task first second moved turned retrained")
def turned_table(values: pd.DataFrame, compared: Compared) -> Iterator[tuple]:
    """What turns the order of two methods: one row a task, pair of methods and thing moved alone.

    turned: the share of the judges' metrics and pairs of networks that order the two otherwise,
    where one of the two ties half; retrained: of two seeds of one model.

    Args:
        values: Of `crossed.make_design`.
        compared: The same, see `compare_models`.
    """
    for task, part in judged(values).groupby("task", sort=False):
        metrics = part.metric.unique()
        methods = part.method.unique()
        cells = pd.MultiIndex.from_product([metrics, methods])
        wide = part.pivot_table(
            index=["model", "seed"], columns=["metric", "method"], values="value"
        )
        scores = wide.reindex(columns=cells).to_numpy()
        scores = scores.reshape(len(wide), len(metrics), len(methods))
        first, second = np.triu_indices(len(methods), k=1)
        order = np.sign(scores[..., first] - scores[..., second])
        pairs = compared.pairs[compared.pairs.task == task]
        two = zip(pairs["first"], pairs["second"], strict=True)
        moved = dict(zip(two, _moved_alone(pairs), strict=True))
        apart: dict[str, list[np.ndarray]] = {RETRAINED: []}
        for (u, (one, a)), (v, (other, b)) in combinations(enumerate(wide.index), 2):
            thing = moved.get((one, other)) or moved.get((other, one), RETRAINED)
            if thing != ERASING or a == b:
                apart.setdefault(thing, []).append(np.abs(order[u] - order[v]) / 2)
        none = np.full((1, len(first)), np.nan)
        shares = {
            name: mean_of_known(np.concatenate([none, *all_of])) for name, all_of in apart.items()
        }
        retrained = shares.pop(RETRAINED)
        shares.pop(SEVERAL, None)
        for thing, share in shares.items():
            for pair in zip(methods[first], methods[second], share, retrained, strict=True):
                yield task, *pair[:2], thing, *pair[2:]


@sentence
def say_turned(turned: pd.DataFrame) -> str:
    """How many pairs of methods a thing turns that training anew leaves, most first."""
    parts = []
    for task, part in turned[turned.retrained < STAYS].groupby("task", sort=False):
        counts = (part.turned > TURNS).groupby(part.moved).agg(turned="sum", pairs="size")
        counts = counts.sort_values("turned", ascending=False, kind="stable")
        shown = ", ".join(
            f"{FACTS.get(row.Index, row.Index)} {row.turned}" for row in counts.itertuples()
        )
        parts.append(f"{task}: of {counts.pairs.max()} pairs of methods {shown}")
    said = f"moved alone, a thing turns pairs that training anew leaves; {'; '.join(parts)}"
    return said if parts else ""


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
    """Of each task what moves an order most where it is moved alone, and what least."""
    parts = []
    for task, part in moved[moved.moved != NOTHING].groupby("task", sort=False):
        ordered = part.sort_values("correlation")
        said = [f"{row.title} ({row.correlation:.2f})" for row in ordered.itertuples()]
        parts.append(f"{task}: {', '.join(said)}")
    return f"moved alone, what leaves least of an order first; {'; '.join(parts)}" if parts else ""
