"""A small trial of metrics that must pass or be condemned, in all worlds that need no corpus."""

import pytest
from reference.trial_metrics import MADE, METRICS_TRIED, SEED, TEXTS

from attreval.trial.explainers import EXPLAINERS
from attreval.trial.measure import try_metrics
from attreval.trial.verdict import matrix_table, verdict_table


@pytest.fixture(scope="session")
def trial():
    """The values of every metric in every world."""
    return try_metrics(METRICS_TRIED, TEXTS, worlds=MADE, explainers=tuple(EXPLAINERS), seed=SEED)


@pytest.fixture(scope="session")
def matrix(trial):
    """One row a metric and world."""
    return matrix_table(trial, draws=100)


@pytest.fixture(scope="session")
def verdicts(matrix):
    """One row a metric."""
    return verdict_table(matrix, METRICS_TRIED).set_index("metric")
