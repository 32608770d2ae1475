"""Texts that attributions made elsewhere speak of: the others are left out, and counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from attreval.core.records import Instance
from attreval.core.tables import write_whole
from attreval.methods.attribution_files import as_methods, read_attribution_file
from compendium.evaluation.asked import NAME, Asked

TOGETHER = 256  # texts that are predicted at once


def with_attributions(
    asked: Asked, files: Sequence[Path | str], loaded, rows: Sequence, out: Path, say: Callable[[str], None]
) -> tuple[Asked, list]:
    """What is asked with files of attributions, and the rows of which each of their methods explains the prediction.

    Where these are not all, they are written to `run/texts.jsonl` in the folder of the report, and read from there.
    Raises ValueError where no text is left, and as attribution_files does.
    """
    from attreval.methods import METHODS

    files = tuple(Path(path).expanduser().resolve() for path in files)
    given = as_methods([row for path in files for row in read_attribution_file(path)], asked.labels, METHODS)
    kept, left_out = [], Counter()
    for start in range(0, len(rows), TOGETHER):
        part = rows[start : start + TOGETHER]
        for row, why in zip(part, _objections(given, loaded, part), strict=True):
            if why:
                left_out[why] += 1
            else:
                kept.append(row)
    for why, count in left_out.items():
        say(f"{count} of {len(rows)} texts are left out: {why}")
    if not kept:
        raise ValueError(
            f"no text of {asked.data.name} is explained by {', '.join(given)}: attributions are found by their text, "
            "which is the same to the letter, and are of the class that the model predicts"
        )
    if left_out:
        asked = replace(
            asked, data=_write_kept(asked, kept, out / NAME / "texts.jsonl"), columns=_without_split(asked.columns)
        )
    return replace(asked, files=files, size=len(kept), given=tuple(given)), kept


def _objections(given: dict, loaded, rows: Sequence) -> list[str]:
    """For each row why it cannot be used, empty where it can."""
    from attreval.methods.run import predict
    from attreval.models.scorer import Scorer
    from compendium.corpora.words import words_of

    instances = [Instance(str(row.id), row.segments, row.label, words_of(row.segments)) for row in rows]
    tokens = [loaded.tokens(instance) for instance in instances]
    found = []
    for instance, read, target in zip(
        instances, tokens, predict(Scorer(loaded), tokens).argmax(axis=1).tolist(), strict=True
    ):
        why = ""
        for name, method in given.items():
            try:
                method.given(instance, read, target)
            except ValueError as error:
                why = why or f"{name} {'explains another class' if 'the class' in str(error) else 'has no scores'}"
        found.append(why)
    return found


def _without_split(columns: dict[str, str]) -> dict[str, str]:
    return {name: column for name, column in columns.items() if name != "split"}


def _write_kept(asked: Asked, kept: Sequence, path: Path) -> Path:
    """Write the rows of the table whose texts are kept, with the columns that are read."""
    from attreval.texts.data import Columns
    from attreval.texts.files import read_table

    columns = Columns(**asked.columns)
    table, wanted = read_table(asked.data, columns.wanted()), {row.segments for row in kept}
    names = [name for name in columns.wanted() if name != columns.split]
    texts = [table.columns[name] for name in (columns.text, columns.pair) if name]
    with write_whole(path) as part, part.open("w", encoding="utf-8") as lines:
        for at in range(len(table.columns[columns.text])):
            if tuple(str(text[at]) for text in texts) in wanted:
                row = {name: _plain(table.columns[name][at]) for name in names}
                lines.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    return path


def _plain(value):
    """A cell as JSON has it."""
    return value.tolist() if hasattr(value, "tolist") else value
