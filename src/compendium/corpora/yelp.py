"""Yelp: full reviews, positive above three stars and negative below, as Poerner et al. 2018.

Poerner et al. 2018 keep reviews from Pennsylvania; these files have no state, so nothing is filtered.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import by_share, same_text

SHARES = {"train": 0.9, "dev": 0.1}
STARS = "Review Stars:"


def build_yelp(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of test (its own file), train and dev (a hash splits the other file); three stars are dropped."""
    for name, shares in (("dev", SHARES), ("test", {"test": 1.0})):
        with sources[f"yelp/reviews_{name}.csv"].open(encoding="utf-8", newline="") as handle:
            for number, line in enumerate(csv.DictReader(handle)):
                split = by_share(same_text(line["text"]), shares, "yelp")
                stars = float(line["label2"].removeprefix(STARS))
                if stars == 3:
                    counts.dropped[f"three stars ({split})"] += 1
                else:
                    yield Row(f"yelp/{split}/{name}-{number}", split, (line["text"],), int(stars > 3))
