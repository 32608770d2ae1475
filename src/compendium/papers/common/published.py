"""What did a paper report? Its figures, read from paper/reported, to stand beside ours."""

from __future__ import annotations

import pandas as pd

from compendium import project


def reported(name: str) -> pd.DataFrame:
    """The table paper/reported/<name>.csv. Raises FileNotFoundError that lists those there are."""
    folder = project.home() / "paper" / "reported"
    path = folder / f"{name}.csv"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in folder.glob("*.csv")))
        raise FileNotFoundError(f"no published figures {name!r}; there are: {there}")
    return pd.read_csv(path)
