"""What tables are made with: rows under named columns, and means with their intervals."""

import re
from collections.abc import Callable, Iterable
from functools import wraps

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attreval.core.bootstrap import bootstrap_mean
from compendium.config import BootstrapSpec


def table_of(columns: str) -> Callable[[Callable[..., Iterable]], Callable[..., pd.DataFrame]]:
    """Decorate a function that gives rows, tuples or dicts: it gives their table.

    columns: all of the table's, also where there is no row; `x±` stands for `x x_low x_high`, a
    number and the ends of its interval.
    """

    def decorate(rows: Callable[..., Iterable]) -> Callable[..., pd.DataFrame]:
        @wraps(rows)
        def made(*given: object, **named: object) -> pd.DataFrame:
            return pd.DataFrame(list(rows(*given, **named)), columns=spell(columns))

        return made

    return decorate


def spell(columns: str) -> list[str]:
    """The names of columns, each `x±` spelled out."""
    return re.sub(r"(\S+)±", r"\1 \1_low \1_high", columns).split()


def put_together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other.

    The columns of an empty frame have no type, and would take that of others.
    """
    return pd.concat([one for one in frames if len(one)] or frames[:1], ignore_index=True)


def mean_low_high(values: ArrayLike, settings: BootstrapSpec, *names: object) -> np.ndarray:
    """(3, ...) mean of (n, ...) values over texts, and the ends of its interval."""
    found = bootstrap_mean(np.asarray(values), settings.draws, settings.confidence, *names)
    return np.stack(found)
