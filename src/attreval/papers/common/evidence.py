"""Human evidence of a text that another corpus carries: e-SNLI's marks for SNLI's pairs."""

from __future__ import annotations

from dataclasses import replace

from attreval import corpora
from attreval.core.records import Instance


def borrowed_evidence(task: str) -> dict[tuple[str, ...], Instance]:
    """The instances of the tasks that lend this one what people marked, by their texts."""
    lent = {}
    for lender in reversed(corpora.evidence_tasks(task)):  # the preferred one overwrites
        if corpora.table_path(lender).exists():
            lent |= {i.segments: i for i in corpora.load(lender, "test")}
    return lent


def with_evidence(instance: Instance, lent: dict[tuple[str, ...], Instance]) -> Instance:
    """The instance with what people marked in the same texts elsewhere, unless it has its own."""
    own = instance.evidence
    if own.marks.size or own.interactions or instance.segments not in lent:
        return instance
    return replace(instance, evidence=lent[instance.segments].evidence)
