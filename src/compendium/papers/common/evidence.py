"""Human evidence of a text that another corpus carries: e-SNLI's marks for SNLI's pairs."""

from __future__ import annotations

from dataclasses import replace

from attreval.core.records import Instance
from compendium import corpora


def borrowed_evidence(task: str) -> dict[tuple[str, ...], Instance]:
    """The instances of the tasks that carry what people marked in this one's texts, by their texts."""
    marked = {}
    for annotated in reversed(corpora.evidence_tasks(task)):  # the preferred one overwrites
        if corpora.table_path(annotated).exists():
            marked |= {i.segments: i for i in corpora.load(annotated, "test")}
    return marked


def with_evidence(instance: Instance, marked: dict[tuple[str, ...], Instance]) -> Instance:
    """The instance with what people marked in the same texts elsewhere, unless it has its own."""
    own = instance.evidence
    if own.marks.size or own.interactions or instance.segments not in marked:
        return instance
    return replace(instance, evidence=marked[instance.segments].evidence)
