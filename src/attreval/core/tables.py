"""Tables on disk: Parquet and CSV, each written whole under a temporary name and then renamed."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attreval.core.records import Attribution, Cost, Evidence, Instance, Tokens

INTERACTION = ("start_a", "end_a", "start_b", "end_b", "label")
TEXT = pa.string()
INT = pa.int32()
LONG = pa.int64()
FLOAT = pa.float64()
INTS = pa.list_(INT)
TEXTS = pa.list_(TEXT)
TRIPLES = pa.list_(pa.list_(INT, 3))
INSTANCE_SCHEMA = pa.schema(
    {
        "id": TEXT,
        "split": TEXT,
        "segments": TEXTS,
        "label": INT,
        "words": TRIPLES,
        "marks": pa.list_(pa.list_(FLOAT)),
        "spans": TRIPLES,
        "interactions": pa.list_(pa.struct(dict.fromkeys(INTERACTION, INT) | {"label": TEXT})),
        "classes": INTS,
        "tags": TEXTS,
        "attractors": INT,
    }
)
ATTRIBUTION_SCHEMA = pa.schema(
    {
        "instance": TEXT,
        "method": TEXT,
        "target": INT,
        "level": TEXT,
        "features": pa.list_(INTS),
        "scores": pa.list_(FLOAT),
        "gap": FLOAT,
        "reliability": FLOAT,
        "special": FLOAT,
        "note": TEXT,
        **dict.fromkeys(Cost.__dataclass_fields__, LONG),
    }
)
TOKEN_SCHEMA = pa.schema(
    {
        "instance": TEXT,
        "ids": INTS,
        "segments": INTS,
        "special": pa.list_(pa.bool_()),
        "word": INTS,
        "offsets": TRIPLES,
        "texts": TEXTS,
        **dict.fromkeys(("mask_id", "pad_id", "dropped", "unknown_id"), INT),
    }
)
# of Tokens
ARRAYS = {"special": bool, **dict.fromkeys(("ids", "segments", "word", "offsets"), np.int64)}


def part_of(path: Path) -> Path:
    """The temporary name under which `path` is written, with the suffix that some writers need."""
    return path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")


def sweep_parts(folder: Path) -> None:
    """Remove what killed writers have left below a folder; only while nobody writes there."""
    for part in list(folder.rglob(".*.part*")):
        shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        yield part
        with part.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with write_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole, keys sorted."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a CSV table whole; floats keep the digits that read back to the same float64."""
    with write_whole(path) as part:
        frame.to_csv(part, index=False, lineterminator="\n")


def read_csv(*paths: Path) -> pd.DataFrame:
    """Read one CSV table, or several of the same columns, one below the other."""
    return pd.concat(map(pd.read_csv, paths), ignore_index=True)


def write_instances(path: Path, instances: Iterable[Instance], about: dict) -> None:
    """Write a task table.

    Args:
        path: Where to.
        instances: Its rows.
        about: Task, labels, segment names and sources, which go into the Parquet metadata.
    """
    columns: dict = {name: [] for name in INSTANCE_SCHEMA.names}
    for one in instances:
        evidence = one.evidence
        relations = [dict(zip(INTERACTION, row, strict=True)) for row in evidence.interactions]
        row = vars(one) | vars(evidence)
        row |= {"marks": evidence.marks.tolist(), "interactions": relations}
        for name, column in columns.items():
            column.append(row[name])
    # from one flat array, since a corpus has millions of words
    ends = np.cumsum([0, *map(len, columns["words"])], dtype=np.int32)
    flat = np.concatenate([np.zeros((0, 3), np.int32), *columns["words"]]).astype(np.int32)
    triples = pa.FixedSizeListArray.from_arrays(flat.ravel(), 3)
    columns["words"] = pa.ListArray.from_arrays(ends, triples)
    schema = INSTANCE_SCHEMA.with_metadata({"attreval": json.dumps(about, sort_keys=True)})
    write_parquet(path, pa.table(columns, schema=schema))


def read_about(path: Path) -> dict:
    """The metadata that a task table was written with."""
    return json.loads(pq.read_schema(path).metadata[b"attreval"])


def read_instances(
    path: Path, split: str | None = None, limit: int | None = None
) -> list[Instance]:
    """Read a task table.

    Args:
        path: The table.
        split: Only of this split.
        limit: Only the first few.
    """
    return [_as_instance(row) for row in islice(_rows(path, split), limit)]


def _as_instance(row: dict) -> Instance:
    """A row of a task table as a record; earlier tables lack some columns."""
    evidence = Evidence(
        marks=np.array(row["marks"], dtype=float) if row["marks"] else np.zeros((0, 0)),
        spans=tuple(map(tuple, row["spans"])),
        interactions=tuple(tuple(one.values()) for one in row["interactions"]),
        classes=tuple(row.get("classes") or ()),
        tags=tuple(row.get("tags") or ()),
        attractors=row.get("attractors"),
    )
    segments = tuple(row["segments"])
    return Instance(row["id"], segments, row["label"], row["words"], row["split"], evidence)


def _rows(path: Path, split: str | None) -> Iterator[dict]:
    """The rows of a task table, a batch at a time, so that the first few cost little."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1024):
            kept = batch if split is None else batch.filter(pc.equal(batch["split"], split))
            words = kept["words"]
            flat = words.flatten().flatten().to_numpy()  # millions: no list of lists
            ends = np.cumsum(words.value_lengths())
            each = np.split(flat.astype(np.int64).reshape(-1, 3), ends[:-1])
            for own, row in zip(each, kept.drop_columns(["words"]).to_pylist(), strict=False):
                yield row | {"words": own}


def read_by_instance(*paths: Path) -> dict[str, dict[str, Attribution]]:
    """Read attribution tables: instance id -> method -> record, in the order of the tables."""
    out: dict[str, dict[str, Attribution]] = {}
    for record in read_attributions(*paths):
        out.setdefault(record.instance, {})[record.method] = record
    return out


def write_attributions(path: Path, attributions: Iterable[Attribution]) -> None:
    """Write attributions, one row each."""
    rows = [vars(one) | vars(one.cost) for one in attributions]
    write_parquet(path, pa.Table.from_pylist(rows, schema=ATTRIBUTION_SCHEMA))


def read_attributions(*paths: Path) -> list[Attribution]:
    """Read one or several attribution tables."""
    found = []
    for row in _read_rows(*paths):
        features = tuple(map(tuple, row.pop("features")))
        cost = Cost(**{name: row.pop(name) for name in Cost.__dataclass_fields__})
        # earlier versions have fewer columns
        found.append(Attribution(**row, features=features, cost=cost))
    return found


def write_tokens(path: Path, tokens: Mapping[str, Tokens]) -> None:
    """Write what a model reads of instances, so that judging stored scores needs no model."""
    rows = []
    for instance, one in tokens.items():
        plain = {name: np.asarray(value).tolist() for name, value in vars(one).items()}
        rows.append(plain | {"instance": instance})
    write_parquet(path, pa.Table.from_pylist(rows, schema=TOKEN_SCHEMA))


def read_tokens(*paths: Path) -> dict[str, Tokens]:
    """The tokens in one or several tables by instance id, in the order of the tables."""
    found = {}
    for row in _read_rows(*paths):
        instance = row.pop("instance")
        texts = tuple(row.pop("texts"))
        row |= {name: np.array(row[name], kind) for name, kind in ARRAYS.items()}
        found[instance] = Tokens(**row, texts=texts)
    return found


def _read_rows(*paths: Path) -> Iterator[dict]:
    """The rows of tables, one below the other."""
    for path in paths:
        yield from pq.read_table(path).to_pylist()


def write_parquet(path: Path, table: pa.Table) -> None:
    with write_whole(path) as part:
        pq.write_table(table, part, compression="zstd")


def note_seconds(path: Path, seconds: float) -> None:
    """Keep the processor seconds that a file took beside it, for a resumed step's full cost."""
    write_text(path.with_suffix(".seconds"), f"{seconds}")


def seconds_of(path: Path) -> float:
    """Processor seconds that a file took; 0 if the file or the note beside it is missing."""
    note = path.with_suffix(".seconds")
    return float(note.read_text(encoding="utf-8")) if path.exists() and note.exists() else 0.0
