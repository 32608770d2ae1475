"""How many texts and networks does an order of methods need, under one metric? (Brennan 2001)

A score is that of a method on a text by a network: one of several models, trained with one of
several seeds. Of each text and network the mean over methods is taken off, and each network is
scaled. Products of two scores of a method then hold what the two share: of two texts by two models,
the method's own variance; by two seeds of a model, the model's besides; by one network, the seed's
besides; of one text by two models, the text's besides. So mean products are the components, with no
need of a library, and without noise that the same texts would share. Letters used for shapes: u
networks, m methods, n texts.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from compendium.config import ModelSpec
from compendium.papers.common.sentences import sentence
from compendium.papers.common.tables import table_of
from compendium.papers.joint.decomposition import gather_columns, text_products
from compendium.papers.joint.values import JOINT, family_of

FEWEST_TEXTS = 10  # that all networks of a family have
DEPENDABLE = 0.8  # the generalizability that is usually asked for
COMPONENTS = ("methods", "model", "seed", "text", "rest")


class OrderNeeds(NamedTuple):
    """What makes an order dependable; infinite where nothing is enough.

    dependable: the coefficient of one network on the texts there are; texts: that one network
    needs; models: that these texts need, with a seed each.
    """

    dependable: float
    texts: float
    models: float


@table_of(
    "family task metric title networks texts methods model seed text rest dependable "
    "texts_needed models_needed"
)
def needs_table(values: pd.DataFrame, models: Mapping[str, ModelSpec]) -> Iterator[tuple]:
    """One row a family of networks, task and metric: what scores are made of and orders need.

    values: of `crossed.make_design`. methods, model, seed, text, rest: shares of the variance of
    one score; text is what a text does to all networks alike, rest what it does to one. dependable,
    texts_needed, models_needed: see OrderNeeds; an order is dependable from DEPENDABLE on.
    """
    known = values[values.value.notna() & (values.method != "random")]
    family = known.model.map(lambda name: family_of(models[name]))
    for (name, task, metric), part in known.groupby([family, "task", "metric"], sort=False):
        columns = gather_columns(part.sort_values(["model", "seed", "method", "instance"]))
        if columns is None:
            continue
        scores = columns.scores[:, 0].compress(columns.texts[0], axis=-1)
        of_network = np.array([model for model, _ in columns.networks])
        seeds = np.unique(of_network, return_counts=True)[1]
        texts = scores.shape[-1]
        if texts < FEWEST_TEXTS or len(seeds) < 2 or seeds.min() < 2:
            continue
        found = split_variance(scores, of_network)
        shares = found / found.sum() if found.sum() > 0 else found
        about = (name, task, metric, JOINT[metric].title, len(scores), texts)
        yield *about, *shares, *order_needs(found, texts)


def split_variance(scores: np.ndarray, models: np.ndarray) -> np.ndarray:
    """(5,) COMPONENTS of the variance of (u, m, n) scores, less their means over methods.

    models: (u,) of which model each network is one. Networks are scaled to equal variance of their
    methods' true means, since an order knows no scale; one that has none is left out. Zeros where
    fewer than two models with two seeds are left.
    """
    _, m, n = scores.shape
    one_text, products = text_products(scores)
    two_texts = products / ((m - 1) * n * (n - 1))
    tells = np.diag(two_texts) > 0
    counts = np.unique(models[tells], return_counts=True)[1]
    if (counts > 1).sum() < 2:
        return np.zeros(len(COMPONENTS))
    here = np.ix_(tells, tells)
    sd = np.sqrt(np.diag(two_texts)[tells])
    same_text = (one_text / ((m - 1) * n))[here] / np.outer(sd, sd)
    other_text = two_texts[here] / np.outer(sd, sd)
    alike = models[tells][:, None] == models[tells][None]
    itself = np.eye(len(sd), dtype=bool)
    methods = other_text[~alike].mean()
    model = other_text[alike & ~itself].mean()
    network = other_text[itself].mean()
    text = same_text[~alike].mean() - methods
    rest = same_text[itself].mean() - network - text
    return np.array([methods, model - methods, network - model, text, rest])


def order_needs(components: np.ndarray, texts: int) -> OrderNeeds:
    """What an order needs whose scores have these COMPONENTS, on so many texts.

    A component below 0, an estimate of about nothing, is none; without variance of the methods
    nothing is enough.
    """
    methods, model, seed, text, rest = np.maximum(components, 0)
    if methods == 0:
        return OrderNeeds(0.0, np.inf, np.inf)
    error = methods * (1 - DEPENDABLE) / DEPENDABLE  # that is allowed
    one = methods / (methods + model + seed + (text + rest) / texts)
    of_texts = _count(text + rest, error - model - seed)
    of_models = _count(model + seed + rest / texts, error - text / texts)
    return OrderNeeds(one, of_texts, of_models)


def _count(variance: float, allowed: float) -> float:
    """How many must be averaged for no more than the allowed variance to be left."""
    return float(np.maximum(1, np.ceil(variance / allowed))) if allowed > 0 else np.inf


@table_of("family title tasks enough fewest median models")
def needs_by_metric(table: pd.DataFrame) -> Iterator[tuple]:
    """One row a family and metric: on how many tasks some number of texts is enough.

    fewest, median: of the texts needed there; NaN where there are none. models: needed on the most
    demanding task.
    """
    for cell, part in table.groupby(["family", "title"], sort=False):
        enough = part.texts_needed[np.isfinite(part.texts_needed)]
        counts = (len(part), len(enough), enough.min(), enough.median())
        yield *cell, *counts, part.models_needed.max()


@sentence
def say_needs(table: pd.DataFrame) -> str:
    """How many texts one network needs, by family, and where no number is enough."""
    said = []
    for family, part in table.groupby("family", sort=False):
        enough = part.texts_needed[np.isfinite(part.texts_needed)]
        middle = f"(median {enough.median():.0f}) " if len(enough) else ""
        said.append(
            f"among {family} some number of texts {middle}makes one network's order dependable for "
            f"{len(enough)} of {len(part)} tasks and metrics"
        )
    return "; ".join(said)
