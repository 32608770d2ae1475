"""What the tests share: a tiny classifier, one with a planted truth, ledgers, and made-up texts."""

from __future__ import annotations

import os

import pytest
import torch
from hypothesis import HealthCheck, Phase, settings
from reference import models

from attreval.models.scorer import Scorer

QUIET = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
settings.register_profile("ci", deadline=None, max_examples=40, suppress_health_check=QUIET, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=QUIET)
FIRST = (Phase.explicit, Phase.generate)  # the first example that fails will do: for tests/breakages.py
settings.register_profile("first", settings.get_profile("ci"), phases=FIRST)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
torch.set_num_threads(1)  # sums in another order are other floats, and workers run side by side


SHARED = ("smoke", "site")  # groups of tests that share a run of the workflow, or a rendered site; the longest first


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    """Give each test a group, all of which one worker runs (--dist loadgroup): a shared one, or that of its file."""

    def group(item):
        name = "smoke" if item.get_closest_marker("workflow") else item.path.parent.name
        return name if name in SHARED else str(item.path)

    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    items.sort(key=lambda item: (*SHARED, group(item)).index(group(item)))


@pytest.fixture(scope="session")
def tiny():
    """A BERT-shaped classifier of 2 layers with random weights; do not change it."""
    return models.tiny_model()


@pytest.fixture(scope="session")
def unnormed():
    """The tiny model without the layer normalisation behind its embeddings; do not change it."""
    return models.tiny_model(normed=False)


@pytest.fixture
def exact(tiny):
    """A fresh float64 ledger of the tiny model."""
    return Scorer(tiny, precision="float64")


@pytest.fixture(scope="session")
def planted():
    """A model whose class one token id decides; do not change it."""
    return models.Planted()


@pytest.fixture(scope="session")
def texts():
    """Instances of several lengths, singles and pairs, one with a word in three pieces."""
    return models.sample_instances()
