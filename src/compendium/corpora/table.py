"""The table of a task: words are found in its rows, empty ones dropped, the rest ordered and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from attreval import __version__
from attreval.core.records import Evidence, Instance
from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import in_order
from compendium.corpora.tasks import Task, table_path
from compendium.corpora.words import find_words, join_segments, writable

STEP = 10_000


def make_table(task: Task, sources: dict[str, Path], made_from: dict, say: Callable[[str], None]) -> Path:
    """Build the table of a task from its sources; the same sources always give the same bytes."""
    from attreval.core.tables import write_instances

    counts = Counts()
    rows = in_order(task.build(sources, counts), task.name)
    instances = list(with_words(task.name, rows, counts, say))
    in_split = Counter(instance.split for instance in instances)
    about = made_from | {
        "title": task.title,
        "segments": list(task.segments),
        "rows": {name: in_split[name] for name in task.splits},
        "dropped": dict(sorted(counts.dropped.items())),
        "noted": dict(sorted(counts.noted.items())),
        "made_with": __version__,
    }
    path = table_path(task.name)
    write_instances(path, instances, about)
    say(f"table {task.name}: {len(instances)} rows, {counts.dropped.total()} dropped, at {path.name}")
    return path


def with_words(task: str, rows: list[Row], counts: Counts, say: Callable[[str], None]) -> Iterator[Instance]:
    """The instances of rows; one without any word is dropped and counted."""
    unread = [row for row in rows if row.words is None]
    distinct = list(dict.fromkeys(writable(text) for row in unread for text in row.segments))
    words_in = dict(zip(distinct, find_words(distinct), strict=True))
    for number, row in enumerate(rows, 1):
        if number % STEP == 0:
            say(f"table {task}: {number} of {len(rows)}")
        segments = tuple(writable(text) for text in row.segments)
        words = join_segments([words_in[text] for text in segments]) if row.words is None else row.words
        if not len(words):
            counts.dropped[f"no word ({row.split})"] += 1
            continue
        evidence = row.evidence(segments, words) if row.evidence else Evidence()
        yield Instance(row.id, segments, row.label, words, row.split, evidence)
