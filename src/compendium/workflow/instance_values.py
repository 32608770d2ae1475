"""What notebooks 04, 06, 07 and 08 say of single texts of a run, a row each, put together."""

import pandas as pd

from compendium.project import Results

COLUMNS = ["task", "model", "seed", "instance", "method", "measure", "value"]


def read_values(results: Results, *notebooks: str) -> pd.DataFrame:
    """What these notebooks have kept as `instances`, as far as they ran; rows with a number."""
    paths = [results.kept("instances", notebook) for notebook in notebooks]
    frames = [pd.read_parquet(path, columns=COLUMNS) for path in paths if path.exists()]
    found = pd.concat(frames or [pd.DataFrame(columns=COLUMNS)])
    return found.astype({"value": float}).dropna(subset="value", ignore_index=True)
