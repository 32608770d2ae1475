"""Can other networks foretell which methods come first? Each model is left out in turn.

Orders that foretell come from every other text, those foretold from the texts between.
"""

from collections.abc import Iterator

import pandas as pd

from attreval.metrics.rank_correlation import tau_b
from compendium.config import Profile
from compendium.papers.common.sentences import sentence
from compendium.papers.common.tables import mean_low_high, table_of
from compendium.papers.joint.flips import ALL, network_places
from compendium.papers.joint.values import family_of

ITSELF = "the network itself"
FAMILY = "other models of its family"
OTHERS = "all other models"
ELSEWHERE = "models of its family on other tasks"
OCCLUSION = "occlusion before all else"
CHANCE = "chance"


@table_of("task family foreteller models tau± regret±")
def foretold_table(
    values: pd.DataFrame, accuracy: pd.DataFrame, profile: Profile
) -> Iterator[tuple]:
    """One row a task, family of networks and foreteller: how well orders of methods are foretold.

    tau: tau-b with the order by all judges; regret: the share of the other methods that the first
    one beats and the one foretold to be first does not. Means over models, with intervals over
    these.

    Args:
        values, accuracy: Of `crossed.make_design`.
        profile: The design, see `Profile.crossed_profile`.
    """
    number = values.groupby("task").instance.transform(lambda ids: pd.factorize(ids)[0])
    seen = _orders(values[number % 2 == 0], accuracy, profile)
    asked = _orders(values[number % 2 == 1], accuracy, profile)
    rows = []
    for (task, family, model, seed), order in asked.iterrows():
        true = order.dropna()
        here = seen.xs(task)
        others = here.drop(model, level="model")
        elsewhere = seen.drop(task, level="task").drop(model, level="model", errors="ignore")
        guesses = {
            ITSELF: here.loc[family, model, seed],
            FAMILY: others[others.index.get_level_values("family") == family].mean(),
            OTHERS: others.mean(),
            ELSEWHERE: elsewhere[elsewhere.index.get_level_values("family") == family].mean(),
            OCCLUSION: pd.Series(true.index == "occlusion_1", true.index, dtype=float),
        }
        for foreteller, guess in guesses.items():
            guess = guess[true.index]
            if guess.notna().any():
                regret = true.max() - true[guess.idxmax()]
                tau = float(tau_b(guess, true))
                rows.append((task, family, foreteller, model, tau, regret))
        rows.append((task, family, CHANCE, model, 0.0, true.max() - true.mean()))
    columns = ["task", "family", "foreteller", "model", "tau", "regret"]
    by_model = pd.DataFrame(rows, columns=columns).groupby(columns[:4], sort=False).mean()
    for cell, part in by_model.groupby(columns[:3], sort=False):
        numbers = mean_low_high(part, profile.bootstrap, "foretold", *cell)
        yield *cell, len(part), *numbers.T.ravel()


def _orders(values: pd.DataFrame, accuracy: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """A row a network, a column a method: its place by all judges."""
    places = network_places(values, accuracy, profile)
    places = places[places.judge == ALL]
    family = places.model.map(lambda name: family_of(profile.models[name]))
    index = ["task", "family", "model", "seed"]
    return places.assign(family=family).pivot(index=index, columns="method", values="place")


@sentence
def say_foretold(table: pd.DataFrame) -> str:
    """Of each foreteller the correlation and the regret, mean over tasks and families."""
    said = []
    for foreteller, part in table.groupby("foreteller", sort=False):
        said.append(f"{foreteller} {part.tau.mean():.2f} ({part.regret.mean():.2f})")
    said_of_all = "rank correlation with a network's order and, in brackets, regret: "
    return said_of_all + ", ".join(said)
