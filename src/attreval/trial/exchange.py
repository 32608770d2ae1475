"""What goes into a trial and out of it: a metric's file, the texts of the worlds, attributions made
elsewhere.

A line of `texts.jsonl`: `world`, `seed`, `id`, `words`, `part` (of each word, 0 or 1), `target` (a
class by name). One of attributions: `world`, `seed`, `id`, `scores`, a number a word, and, where
there are several, `method`.
"""

import importlib.util
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attreval.core.tables import write_whole
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
    """The metrics of a Python file, by name. The file is run. FileNotFoundError where there is
    none; ValueError for one that cannot be run, has no metric, or one without a direction or that
    needs what no world offers.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no file {path}; a metric is given as a Python file, such as:\n{EXAMPLE}"
        )
    spec = importlib.util.spec_from_file_location(f"trial_of_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(
            f"{path} is no Python file (.py); a metric is given as one, such as:\n{EXAMPLE}"
        )
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be run: {error!r}") from error
    here = [one for one in vars(module).values() if isinstance(one, Metric)]
    found = {
        one.name: one for one in here if getattr(one.function, "__module__", "") == module.__name__
    }
    if not found:
        raise ValueError(
            f"{path} holds no function with @metric; it is written like this:\n{EXAMPLE}"
        )
    for one in found.values():
        check_metric(one, str(path))
    return found


def check_metric(metric: Metric, where: str) -> None:
    """ValueError for a metric that cannot be tried."""
    if not metric.sign:
        raise ValueError(
            f"{where}: metric {metric.name!r} has no direction; say higher_is_better=True or False"
        )
    if unmet := set(metric.needs) - OFFERED - AROUND - {"agent"}:
        raise ValueError(
            f"{where}: metric {metric.name!r} needs {', '.join(sorted(unmet))}, which no world "
            "offers; there are: "
            f"{', '.join(sorted(OFFERED | AROUND))}"
        )


def export_texts(
    folder: Path, worlds: Sequence[str] | None, texts: int, seed: int, corpora: str | None = None
) -> Path:
    """Write the texts of worlds into `texts.jsonl` in a folder."""
    with (
        write_whole(folder / "texts.jsonl") as part,
        Path(part).open("w", encoding="utf-8") as lines,
    ):
        for name in known_worlds(worlds, corpora):
            made = load_world(name, seed, texts, corpora)
            for one in made.texts:
                row = {
                    "world": name,
                    "seed": seed,
                    "id": one.id,
                    "words": one.instance.word_texts(),
                }
                row |= {
                    "part": one.instance.words[:, 0].tolist(),
                    "target": made.model.labels[one.target],
                }
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    return folder / "texts.jsonl"


@dataclass(frozen=True)
class Theirs:
    """Attributions made elsewhere. scores: (world, method) -> text's id -> (words,). texts: as many
    as they reach.
    """

    scores: dict[tuple[str, str], dict[str, np.ndarray]]
    seed: int
    texts: int

    @property
    def worlds(self) -> list[str]:
        """The worlds that there are scores for."""
        return list(dict.fromkeys(world for world, _ in self.scores))


def read_theirs(path: Path | str, seed: int | None = None) -> Theirs:
    """Attributions of the texts of worlds, as `export_texts` wrote them.

    seed: what the worlds are made with; None takes the file's. Raises FileNotFoundError, and
    ValueError that names the row and what is wrong with it.
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
        if missing := [name for name in ("world", "seed", "id", "scores") if row.get(name) is None]:
            raise ValueError(f"{where}: no {' and no '.join(missing)}; it has: {', '.join(row)}")
        if row["world"] not in WORLDS:
            raise ValueError(
                f"{where}: unknown world {row['world']!r}; there are: {', '.join(WORLDS)}"
            )
        name, at = str(row["id"]).rpartition(" ")[::2]
        if not name or not at.isdigit():
            raise ValueError(
                f"{where}: id {row['id']!r} is none of a text; they read like 'one 7 0'"
            )
        try:
            scores = np.array(row["scores"], dtype=float).reshape(-1)
        except (TypeError, ValueError):
            raise ValueError(
                f"{where}: `scores` is a list of numbers; got {row['scores']!r:.80}"
            ) from None
        if not np.isfinite(scores).all():
            raise ValueError(
                f"{where}: score {int((~np.isfinite(scores)).argmax())} is no finite number"
            )
        seeds.add(int(row["seed"]))
        most = max(most, int(at) + 1)
        held[row["world"], str(row.get("method") or THEIRS)][str(row["id"])] = scores
    if len(seeds) != 1:
        raise ValueError(f"{path.name} holds texts of {len(seeds)} seeds; one trial has one")
    (own,) = seeds
    if seed is not None and seed != own:
        raise ValueError(
            f"{path.name} was made with seed {own}, and seed {seed} was asked for; leave out --seed"
        )
    return Theirs(dict(held), own, most)
