"""What goes into a trial and out of it: a metric's file, texts of worlds, attributions.

A line of `texts.jsonl`: `world`, `seed`, `id`, `words`, `part` (of each word, 0 or 1), `target` (a
class by name). One of attributions: `world`, `seed`, `id`, `scores`, a number a word, and, where
there are several, `method`.
"""

import json
import re
import runpy
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attreval.core.tables import write_text
from attreval.methods.attribution_files import read_scores
from attreval.metrics.metric import Metric
from attreval.texts.decoding import lines_of_json, read_text
from attreval.trial import WORLDS, load_world
from attreval.trial.measure import AROUND, OFFERED, known_worlds

EXAMPLE = """
    from attreval.metrics.metric import metric

    @metric("My metric", judge="", source="ours", needs=("scores",), higher_is_better=True)
    def my_metric(text, method):
        return float(text.scores[method].max())"""
THEIRS = "theirs"  # the method of a file that names none


def read_metrics(path: Path | str) -> dict[str, Metric]:
    """The metrics of a Python file, by name. The file is run.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be run, has no metric, or one that cannot be tried.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no file {path}; a metric is given as a Python file, such as:\n{EXAMPLE}"
        )
    if path.suffix != ".py":
        raise ValueError(
            f"{path} is no Python file (.py); a metric is given as one, such as:\n{EXAMPLE}"
        )
    name = f"trial_of_{path.stem}"
    try:
        held = runpy.run_path(str(path), run_name=name)
    except Exception as error:
        raise ValueError(f"{path} cannot be run: {error!r}") from error
    metrics = [one for one in held.values() if isinstance(one, Metric)]
    found = {one.name: one for one in metrics if getattr(one.function, "__module__", "") == name}
    if not found:
        raise ValueError(
            f"{path} holds no function with @metric; it is written like this:\n{EXAMPLE}"
        )
    for one in found.values():
        check_metric(one, str(path))
    return found


def check_metric(metric: Metric, where: str) -> None:
    """Raise ValueError for a metric without a direction, or that needs what no world offers."""
    if not metric.sign:
        raise ValueError(
            f"{where}: metric {metric.name!r} has no direction; say higher_is_better=True or False"
        )
    offered = OFFERED | AROUND
    if unmet := set(metric.needs) - offered - {"agent"}:
        raise ValueError(
            f"{where}: metric {metric.name!r} needs {', '.join(sorted(unmet))}, which no world "
            f"offers; there are: {', '.join(sorted(offered))}"
        )


def export_texts(
    folder: Path, worlds: Sequence[str] | None, texts: int, seed: int, corpora: str | None
) -> Path:
    """Write the texts of worlds into `texts.jsonl` in a folder.

    Args:
        folder: made where it is not there.
        worlds: names; None takes all that can be made.
        texts: how many of each world.
        seed: of the worlds.
        corpora: the folder of the corpora.

    Returns:
        The file.
    """
    rows = []
    for name in known_worlds(worlds, corpora):
        made = load_world(name, seed, texts, corpora)
        for one in made.texts:
            row = {
                "world": name,
                "seed": seed,
                "id": one.id,
                "words": one.instance.word_texts(),
                "part": one.instance.words[:, 0].tolist(),
                "target": made.model.labels[one.target],
            }
            rows.append(json.dumps(row, ensure_ascii=False) + "\n")
    file = folder / "texts.jsonl"
    write_text(file, "".join(rows))
    return file


@dataclass(frozen=True)
class Theirs:
    """Attributions made elsewhere.

    scores: (world, method) -> text's id -> (words,). texts: as many as they reach.
    """

    scores: dict[tuple[str, str], dict[str, np.ndarray]]
    seed: int
    texts: int

    @property
    def worlds(self) -> list[str]:
        """The worlds that there are scores for."""
        return list(dict.fromkeys(world for world, _ in self.scores))


def read_theirs(path: Path | str, seed: int | None) -> Theirs:
    """Attributions of the texts of worlds, as `export_texts` wrote them.

    Args:
        path: a jsonl file.
        seed: what the worlds are made with; None takes the file's.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: names the row and what is wrong with it.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no file {path}; attributions are jsonl with world, seed, id and scores in each line"
        )
    held: dict[tuple[str, str], dict[str, np.ndarray]] = defaultdict(dict)
    seeds = set()
    most = 0
    for number, row in enumerate(lines_of_json(read_text(path), path.name), 1):
        where = f"{path.name}, row {number}"
        scores = read_scores(row, ("world", "seed", "id", "scores"), where)
        if row["world"] not in WORLDS:
            raise ValueError(
                f"{where}: unknown world {row['world']!r}; there are: {', '.join(WORLDS)}"
            )
        id = str(row["id"])
        if not re.fullmatch(r".+ \d+", id):
            raise ValueError(f"{where}: id {id!r} is none of a text; they read like 'one 7 0'")
        seeds.add(int(row["seed"]))
        most = max(most, int(id.rpartition(" ")[2]) + 1)
        held[row["world"], str(row.get("method") or THEIRS)][id] = scores
    if len(seeds) != 1:
        raise ValueError(f"{path.name} holds texts of {len(seeds)} seeds; one trial has one")
    (own,) = seeds
    if seed is not None and seed != own:
        raise ValueError(
            f"{path.name} was made with seed {own}, and seed {seed} was asked for; leave out --seed"
        )
    return Theirs(dict(held), own, most)
