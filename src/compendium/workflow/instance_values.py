"""What notebooks 04, 06, 07 and 08 say of single texts of a run, a row each, as Parquet."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from attreval.core.tables import write_parquet

TEXT = pa.string()
SCHEMA = pa.schema(
    {
        "task": TEXT,
        "model": TEXT,
        "seed": pa.int64(),
        "instance": TEXT,
        "method": TEXT,
        "measure": TEXT,
        "value": pa.float64(),
    }
)


def write_values(path: Path, frame: pd.DataFrame) -> None:
    """Write the columns of SCHEMA; rows without a number are left out."""
    known = frame[frame["value"].notna()]
    columns = {name: known[name].tolist() for name in SCHEMA.names}
    write_parquet(path, pa.table(columns, schema=SCHEMA))


def read_values(*paths: Path) -> pd.DataFrame:
    """One or several such tables; an empty one without any."""
    tables = [SCHEMA.empty_table(), *map(pq.read_table, paths)]
    return pa.concat_tables(tables).to_pandas()
