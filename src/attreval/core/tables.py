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
TEXT, INT, LONG, FLOAT = pa.string(), pa.int32(), pa.int64(), pa.float64()
TRIPLES = pa.list_(pa.list_(INT, 3))
INSTANCE_SCHEMA = pa.schema(
    {"id": TEXT, "split": TEXT, "segments": pa.list_(TEXT), "label": INT, "words": TRIPLES}
    | {"marks": pa.list_(pa.list_(FLOAT)), "spans": TRIPLES}
    | {"interactions": pa.list_(pa.struct(dict.fromkeys(INTERACTION[:4], INT) | {"label": TEXT}))}
    | {"classes": pa.list_(INT), "tags": pa.list_(TEXT), "attractors": INT}
)
ATTRIBUTION_SCHEMA = pa.schema(
    {"instance": TEXT, "method": TEXT, "target": INT, "level": TEXT, "features": pa.list_(pa.list_(INT))}
    | {"scores": pa.list_(FLOAT), "gap": FLOAT, "reliability": FLOAT, "special": FLOAT, "note": TEXT}
    | dict.fromkeys(Cost.__dataclass_fields__, LONG)
)
TOKEN_SCHEMA = pa.schema(
    {"instance": TEXT, "ids": pa.list_(INT), "segments": pa.list_(INT), "special": pa.list_(pa.bool_())}
    | {"word": pa.list_(INT), "offsets": TRIPLES, "texts": pa.list_(TEXT)}
    | dict.fromkeys(("mask_id", "pad_id", "dropped", "unknown_id"), INT)
)
VALUE_SCHEMA = pa.schema(
    {"task": TEXT, "model": TEXT, "seed": LONG, "instance": TEXT, "method": TEXT, "measure": TEXT, "value": FLOAT}
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
    _write_parquet(path, pa.table(columns, schema=VALUE_SCHEMA))


def read_values(*paths: Path | str) -> pd.DataFrame:
    """What judges say of single instances, read from one or several files; without any, an empty table."""
    return pa.concat_tables([VALUE_SCHEMA.empty_table(), *(pq.read_table(path) for path in paths)]).to_pandas()


def write_instances(path: Path | str, instances: Iterable[Instance], about: dict) -> None:
    """Write a task table; `about` (task, labels, segment names, sources) goes into the Parquet metadata."""
    kept = list(instances)
    columns = {name: [getattr(i, name) for i in kept] for name in ("id", "split", "segments", "label")}
    columns |= {name: [getattr(i.evidence, name) for i in kept] for name in ("spans", "classes", "tags", "attractors")}
    columns |= {
        "words": _words_column([i.words for i in kept]),
        "marks": [i.evidence.marks.tolist() for i in kept],
        "interactions": [[dict(zip(INTERACTION, x, strict=True)) for x in i.evidence.interactions] for i in kept],
    }
    schema = INSTANCE_SCHEMA.with_metadata({"attreval": json.dumps(about, sort_keys=True)})
    _write_parquet(path, pa.table(columns, schema=schema))


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
            words=row["words"],
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
        for batch in file.iter_batches(1024):
            kept = batch if split is None else batch.filter(pc.equal(batch["split"], split))
            words, names = kept["words"], [name for name in kept.schema.names if name != "words"]
            flat = words.flatten().flatten().to_numpy().astype(np.int64).reshape(-1, 3)  # millions: no list of lists
            each = np.split(flat, np.cumsum(words.value_lengths())[:-1])
            yield from ({"words": own} | row for own, row in zip(each, kept.select(names).to_pylist(), strict=False))


def read_by_instance(*paths: Path | str) -> dict[str, dict[str, Attribution]]:
    """Read attribution tables: instance id -> method -> record, in the order of the tables."""
    out: dict[str, dict[str, Attribution]] = {}
    for record in read_attributions(*paths):
        out.setdefault(record.instance, {})[record.method] = record
    return out


def write_attributions(path: Path | str, attributions: Iterable[Attribution]) -> None:
    """Write attributions, one row each."""
    plain = [name for name in ATTRIBUTION_SCHEMA.names if name not in Cost.__dataclass_fields__]
    rows = [{name: getattr(a, name) for name in plain} | vars(a.cost) for a in attributions]
    _write_parquet(path, pa.Table.from_pylist(rows, schema=ATTRIBUTION_SCHEMA))


def read_attributions(*paths: Path | str) -> list[Attribution]:
    """Read one or several attribution tables."""
    return [
        Attribution(
            **{name: row[name] for name in ("instance", "method", "target", "level", "gap")},
            features=tuple(tuple(feature) for feature in row["features"]),
            scores=np.array(row["scores"]),
            # tables of earlier versions lack some of these
            **{name: row[name] for name in ("reliability", "special", "note") if name in row},
            cost=Cost(**{name: row[name] for name in Cost.__dataclass_fields__}),
        )
        for path in paths
        for row in pq.read_table(path).to_pylist()
    ]


def write_tokens(path: Path | str, tokens: Mapping[str, Tokens]) -> None:
    """Write what a model reads of instances, by id, a row each, so that judging stored scores needs no model."""
    rows = [
        {name: np.asarray(value).tolist() for name, value in vars(one).items()} | {"instance": instance}
        for instance, one in tokens.items()
    ]
    _write_parquet(path, pa.Table.from_pylist(rows, schema=TOKEN_SCHEMA))


def read_tokens(*paths: Path | str) -> dict[str, Tokens]:
    """The tokens in one or several tables by instance id, in the order of the tables."""
    return {
        row["instance"]: Tokens(
            ids=np.array(row["ids"], dtype=np.int64),
            segments=np.array(row["segments"], dtype=np.int64),
            special=np.array(row["special"], dtype=bool),
            word=np.array(row["word"], dtype=np.int64),
            offsets=np.array(row["offsets"], dtype=np.int64).reshape(-1, 3),
            texts=tuple(row["texts"]),
            **{name: row[name] for name in ("mask_id", "pad_id", "dropped")},
            unknown_id=row.get("unknown_id"),  # tables of earlier versions do not say it
        )
        for path in paths
        for row in pq.read_table(path).to_pylist()
    }


def _write_parquet(path: Path | str, table: pa.Table) -> None:
    with write_whole(path) as part:
        pq.write_table(table, part, compression="zstd")


def note_seconds(path: Path, seconds: float) -> None:
    """Keep beside a file the processor seconds that it took, so that a resumed step reports its full cost."""
    with write_whole(path.with_suffix(".seconds")) as part:
        part.write_text(f"{seconds}", encoding="utf-8")


def seconds_of(path: Path) -> float:
    """Processor seconds that a file took to make; 0 if the file or the note beside it is missing."""
    note = path.with_suffix(".seconds")
    return float(note.read_text(encoding="utf-8")) if path.exists() and note.exists() else 0.0
