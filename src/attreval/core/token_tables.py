"""Token tables: what a model reads of each instance, as Parquet, so that judging stored scores needs no model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from attreval.core.records import Tokens
from attreval.core.tables import write_whole

TOKEN_SCHEMA = pa.schema(
    [
        ("instance", pa.string()),
        ("ids", pa.list_(pa.int32())),
        ("segments", pa.list_(pa.int32())),
        ("special", pa.list_(pa.bool_())),
        ("word", pa.list_(pa.int32())),
        ("offsets", pa.list_(pa.list_(pa.int32(), 3))),
        ("texts", pa.list_(pa.string())),
        ("mask_id", pa.int32()),
        ("pad_id", pa.int32()),
        ("dropped", pa.int32()),
        ("unknown_id", pa.int32()),
    ]
)


def write_tokens(path: Path | str, tokens: Mapping[str, Tokens]) -> None:
    """Write the tokens of instances, a row each, by instance id."""
    rows = [
        {name: np.asarray(value).tolist() for name, value in vars(one).items()} | {"instance": instance}
        for instance, one in tokens.items()
    ]
    with write_whole(path) as part:
        pq.write_table(pa.Table.from_pylist(rows, schema=TOKEN_SCHEMA), part, compression="zstd")


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
