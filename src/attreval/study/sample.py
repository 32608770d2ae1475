"""Which instances are used? The first of a table, whose order is random and never changes: the same for everybody."""

from __future__ import annotations

from attreval import corpora
from attreval.config import Profile
from attreval.records import Instance


def to_explain(
    profile: Profile, task: str, model: str, shard: int | None = None, rows: int | None = None
) -> list[Instance]:
    """The test instances on which a profile explains a model, or those of one shard."""
    chosen = corpora.load(task, "test", rows or profile.rows_explained(task, model))
    return chosen if shard is None else chosen[shard :: profile.explaining_of(task).shards]
