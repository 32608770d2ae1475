"""Tables on disk: Parquet and CSV, each written whole under a temporary name and then renamed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attreval.core.records import Attribution, Cost, Evidence, Instance

INTERACTION = ("start_a", "end_a", "start_b", "end_b", "label")
INSTANCE_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("split", pa.string()),
        ("segments", pa.list_(pa.string())),
        ("label", pa.int32()),
        ("words", pa.list_(pa.list_(pa.int32(), 3))),
        ("marks", pa.list_(pa.list_(pa.float64()))),
        ("spans", pa.list_(pa.list_(pa.int32(), 3))),
        ("interactions", pa.list_(pa.struct([(n, pa.int32()) for n in INTERACTION[:4]] + [("label", pa.string())]))),
        ("classes", pa.list_(pa.int32())),
        ("tags", pa.list_(pa.string())),
        ("attractors", pa.int32()),
    ]
)
ATTRIBUTION_SCHEMA = pa.schema(
    [
        ("instance", pa.string()),
        ("method", pa.string()),
        ("target", pa.int32()),
        ("level", pa.string()),
        ("features", pa.list_(pa.list_(pa.int32()))),
        ("scores", pa.list_(pa.float64())),
        ("gap", pa.float64()),
        ("reliability", pa.float64()),
    ]
    + [(name, pa.int64()) for name in Cost.__dataclass_fields__]
)
VALUE_SCHEMA = pa.schema(
    [
        ("task", pa.string()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("instance", pa.string()),
        ("method", pa.string()),
        ("measure", pa.string()),
        ("value", pa.float64()),
    ]
)


def part_of(path: Path) -> Path:
    """The temporary name under which `path` is written; it keeps the suffix, which some writers look at."""
    return path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")


def sweep_parts(folder: Path) -> None:
    """Remove what killed writers have left below a folder; call it only while nobody writes there."""
    for part in list(folder.rglob(".*.part*")):
        shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)


@contextmanager
def write_whole(path: Path | str) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` when the block ends well, remove it otherwise."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        yield part
        with part.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: Path | str, value: Any) -> None:
    """Write a JSON file whole, keys sorted."""
    with write_whole(path) as part:
        part.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def write_csv(path: Path | str, frame: pd.DataFrame) -> None:
    """Write a CSV table whole; floats keep the digits that read back to the same float64."""
    with write_whole(path) as part:
        frame.to_csv(part, index=False, lineterminator="\n")


def read_csv(*paths: Path | str) -> pd.DataFrame:
    """Read one CSV table, or several of the same columns, one below the other."""
    frames = [pd.read_csv(path) for path in paths]
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def write_values(path: Path | str, frame: pd.DataFrame) -> None:
    """Write what judges say of single instances, a row each (see VALUE_SCHEMA); rows without a number are left out."""
    known = frame[frame["value"].notna()]
    columns = {name: known[name].tolist() for name in VALUE_SCHEMA.names}
    with write_whole(path) as part:
        pq.write_table(pa.table(columns, schema=VALUE_SCHEMA), part, compression="zstd")


def read_values(*paths: Path | str) -> pd.DataFrame:
    """What judges say of single instances, read from one or several files; without any, an empty table."""
    return pa.concat_tables([VALUE_SCHEMA.empty_table(), *(pq.read_table(path) for path in paths)]).to_pandas()


def write_instances(path: Path | str, instances: Iterable[Instance], about: dict) -> None:
    """Write a task table; `about` (task, labels, segment names, sources) goes into the Parquet metadata."""
    kept = list(instances)
    columns = {
        "id": [i.id for i in kept],
        "split": [i.split for i in kept],
        "segments": [list(i.segments) for i in kept],
        "label": [i.label for i in kept],
        "words": _words_column([i.words for i in kept]),
        "marks": [i.evidence.marks.tolist() for i in kept],
        "spans": [[list(span) for span in i.evidence.spans] for i in kept],
        "interactions": [[dict(zip(INTERACTION, x, strict=True)) for x in i.evidence.interactions] for i in kept],
        "classes": [list(i.evidence.classes) for i in kept],
        "tags": [list(i.evidence.tags) for i in kept],
        "attractors": [i.evidence.attractors for i in kept],
    }
    schema = INSTANCE_SCHEMA.with_metadata({"attreval": json.dumps(about, sort_keys=True)})
    with write_whole(path) as part:
        pq.write_table(pa.table(columns, schema=schema), part, compression="zstd")


def _words_column(words: list[np.ndarray]) -> pa.Array:
    """A column of (W, 3) tables; built from one flat array, since a corpus has millions of words."""
    ends = np.cumsum([0, *map(len, words)], dtype=np.int32)
    flat = np.concatenate(words).ravel().astype(np.int32) if words else np.zeros(0, np.int32)
    return pa.ListArray.from_arrays(ends, pa.FixedSizeListArray.from_arrays(flat, 3))


def read_about(path: Path | str) -> dict:
    """The metadata that a task table was written with."""
    return json.loads(pq.read_schema(path).metadata[b"attreval"])


def read_instances(path: Path | str, split: str | None = None, limit: int | None = None) -> list[Instance]:
    """Read a task table, or its first `limit` instances of one split."""
    return [
        Instance(
            id=row["id"],
            split=row["split"],
            segments=tuple(row["segments"]),
            label=row["label"],
            words=np.array(row["words"], dtype=np.int64).reshape(-1, 3),
            evidence=Evidence(
                marks=np.array(row["marks"], dtype=float) if row["marks"] else np.zeros((0, 0)),
                spans=tuple(tuple(span) for span in row["spans"]),
                interactions=tuple(tuple(x.values()) for x in row["interactions"]),
                # tables made before these columns existed hold none
                classes=tuple(row.get("classes") or ()),
                tags=tuple(row.get("tags") or ()),
                attractors=row.get("attractors"),
            ),
        )
        for row in islice(_rows(path, split), limit)
    ]


def _rows(path: Path | str, split: str | None) -> Iterator[dict[str, Any]]:
    """The rows of a task table, a batch at a time, so that the first few cost no more than themselves."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(256):
            kept = batch if split is None else batch.filter(pc.equal(batch["split"], split))
            yield from kept.to_pylist()


def read_by_instance(*paths: Path | str) -> dict[str, dict[str, Attribution]]:
    """Read attribution tables: instance id -> method -> record, in the order of the tables."""
    out: dict[str, dict[str, Attribution]] = {}
    for record in read_attributions(*paths):
        out.setdefault(record.instance, {})[record.method] = record
    return out


def write_attributions(path: Path | str, attributions: Iterable[Attribution]) -> None:
    """Write attributions, one row each."""
    rows = [
        {
            "instance": a.instance,
            "method": a.method,
            "target": a.target,
            "level": a.level,
            "features": [list(feature) for feature in a.features],
            "scores": a.scores.tolist(),
            "gap": a.gap,
            "reliability": a.reliability,
        }
        | {name: getattr(a.cost, name) for name in Cost.__dataclass_fields__}
        for a in attributions
    ]
    with write_whole(path) as part:
        pq.write_table(pa.Table.from_pylist(rows, schema=ATTRIBUTION_SCHEMA), part, compression="zstd")


def read_attributions(*paths: Path | str) -> list[Attribution]:
    """Read one or several attribution tables."""
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return [
        Attribution(
            instance=row["instance"],
            method=row["method"],
            target=row["target"],
            level=row["level"],
            features=tuple(tuple(feature) for feature in row["features"]),
            scores=np.array(row["scores"]),
            gap=row["gap"],
            reliability=row.get("reliability", float("nan")),  # tables made before this column existed
            cost=Cost(**{name: row[name] for name in Cost.__dataclass_fields__}),
        )
        for row in rows
    ]
