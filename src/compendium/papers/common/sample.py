"""The instances that a profile uses, and what people marked in them.

They are the first of a table, whose order is random and never changes, so everybody has the same ones.
"""

from __future__ import annotations

from dataclasses import replace

from attreval.core.records import Instance
from compendium import corpora
from compendium.config import Profile


def to_explain(
    profile: Profile, task: str, model: str, shard: int | None = None, rows: int | None = None
) -> list[Instance]:
    """The test instances on which a profile explains a model, or those of one shard."""
    chosen = corpora.load(task, "test", rows or profile.rows_explained(task, model))
    return chosen if shard is None else chosen[shard :: profile.explaining_of(task).shards]


def evaluated_instances(profile: Profile, task: str) -> list[Instance]:
    """The test instances that the diagnosis looks at."""
    return corpora.load(task, "test", profile.diagnosis.rows)


def marked_corpus(task: str) -> list[Instance]:
    """All of a task's dev and test instances that people have marked, as far as it has these splits."""
    splits = [split for split in ("dev", "test") if split in corpora.TASKS[task].splits]
    return [i for split in splits for i in corpora.load(task, split) if len(i.evidence.marks)]


def examples(task: str, wanted: list[str]) -> list[Instance]:
    """The test instances of these ids, in this order. Raises ValueError where there is no such instance."""
    found = {instance.id: instance for instance in corpora.load(task, "test")} if wanted else {}
    if missing := [name for name in wanted if name not in found]:
        raise ValueError(
            f"task {task!r} has no test instance {missing[0]!r}; ids look like {next(iter(found), 'none')!r}"
        )
    return [found[name] for name in wanted]


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
