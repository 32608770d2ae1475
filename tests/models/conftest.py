"""Models that several files ask."""

import functools

import pytest
from reference import architectures as shapes

from attreval.models.loading import load_classifier


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Tiny classifiers by kind, as they are loaded from folders."""

    @functools.cache
    def load(kind):
        folder = tmp_path_factory.mktemp("models") / kind
        return load_classifier(shapes.save_tiny(kind, folder), device="cpu", max_length=512)

    return load
