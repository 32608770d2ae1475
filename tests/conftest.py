"""What the tests share: a tiny classifier, one with a planted truth, ledgers, and made-up texts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, Phase, settings
from reference import models

from attreval.models.scorer import Scorer

QUIET = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
settings.register_profile(
    "ci", deadline=None, max_examples=40, suppress_health_check=QUIET, derandomize=True
)
settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=QUIET)
# the first example that fails will do: for tests/breakages.py
FIRST = (
    Phase.explicit,
    Phase.generate,
)
settings.register_profile("first", settings.get_profile("ci"), phases=FIRST)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
torch.set_num_threads(1)  # sums in another order are other floats, and workers run side by side


# tests that share a run of the workflow, a rendered site, or trained worlds: one worker runs them
# all, and first
SHARED = {
    "test_workflow.py": "smoke",
    "test_explorer_tables.py": "smoke",
    "test_again.py": "smoke",
    "site": "site",
    "trial": "trial",
}


def _group(file: Path) -> str:
    """The group of a file's tests: a shared one, or the file itself."""
    return SHARED.get(file.name) or SHARED.get(file.parent.name) or str(file)


def pytest_collection_modifyitems(items):
    """Tests that share something dear come first."""
    order = [*dict.fromkeys(SHARED.values())]
    items.sort(key=lambda item: [*order, _group(item.path)].index(_group(item.path)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker one group of tests after the other."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return _group(Path(nodeid.partition("::")[0]))

    return ByGroup(config, log)


@pytest.fixture(scope="session")
def tiny():
    """A BERT-shaped classifier of 2 layers with random weights; do not change it."""
    return models.tiny_model()


@pytest.fixture(scope="session")
def folder(tiny, tmp_path_factory):
    """The tiny model in a folder, as transformers would save it; do not change it."""
    path = tmp_path_factory.mktemp("own") / "model"
    tiny.save(path)
    return path


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
