"""Tokens are read back as they were written, the same bytes each time."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from reference import models
from reference.words import tiny_words

from attreval.core.records import Tokens
from attreval.core.token_tables import read_tokens, write_tokens


def same(one: Tokens, other: Tokens) -> bool:
    """Whether all that two records hold is equal, and of the same kind."""
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(Tokens)]
    return all(type(a) is type(b) and np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("make", [models.tiny_model, lambda: tiny_words("gru")])
def test_tokens_come_back_as_they_were(make, tmp_path):
    model, texts = make(), models.sample_instances()
    tokens = {i.id: model.tokens(i) for i in texts}
    tokens["no mask"] = replace(next(iter(tokens.values())), mask_id=None, dropped=3)
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    write_tokens(first, tokens)
    write_tokens(second, read_tokens(first))
    found = read_tokens(first)
    assert list(found) == list(tokens) and all(same(found[name], tokens[name]) for name in tokens)
    assert first.read_bytes() == second.read_bytes() and not list(tmp_path.glob(".*"))


def test_several_tables_are_one(tmp_path):
    model, texts = models.tiny_model(), models.sample_instances()
    paths = [tmp_path / f"{n}.parquet" for n in range(2)]
    for n, path in enumerate(paths):
        write_tokens(path, {i.id: model.tokens(i) for i in texts[n::2]})
    assert set(read_tokens(*paths)) == {i.id for i in texts}
