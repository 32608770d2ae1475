"""What goes into a trial and out of it: a metric's file, texts of worlds, attributions, values.

A line of `texts.jsonl`: `world`, `seed`, `id`, `words`, `part` (of each word, 0 or 1), `target` (a
class by name). One of attributions, as of `scores.jsonl`: `world`, `seed`, `id`, `scores`, a number
a word, and, where there are several, `method`. One of values: `world`, `seed`, `id`, `method`,
`metric`, `value`, null where it has none, and `higher_is_better` where it is not.
"""

import json
import re
import runpy
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attreval.core.tables import write_text
from attreval.methods.attribution_files import read_scores
from attreval.metrics.metric import Metric, metric
from attreval.metrics.scored_text import ScoredText
from attreval.texts.decoding import lines_of_json, read_text
from attreval.trial import WORLDS, load_world
from attreval.trial.explainers import real_methods
from attreval.trial.measure import AROUND, OFFERED, explain_tokens, known_worlds

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


def export_worlds(
    folder: Path, worlds: Sequence[str] | None, texts: int, seed: int, corpora: str | None
) -> list[Path]:
    """Write worlds into a folder: `texts.jsonl`, `scores.jsonl`, and models of `transformers`.

    Args:
        folder: made where it is not there; a model lies in it in a folder of its world's name.
        worlds: names; None takes all that are made where none is named.
        texts: how many of each world.
        seed: of the worlds.
        corpora: the folder of the corpora.

    Returns:
        What was written.
    """
    from attreval.models.training import save_whole
    from attreval.models.transformer import Transformer, silence_progress_bars

    silence_progress_bars()
    lines: dict[str, list[str]] = {"texts.jsonl": [], "scores.jsonl": []}
    written = [folder / name for name in lines]

    def write(name: str, **row: Any) -> None:
        lines[name].append(json.dumps(row, ensure_ascii=False) + "\n")

    for name in known_worlds(worlds, corpora):
        made = load_world(name, seed, texts, corpora)
        for one in made.texts:
            write(
                "texts.jsonl",
                world=name,
                seed=seed,
                id=one.id,
                words=one.instance.word_texts(),
                part=one.instance.words[:, 0].tolist(),
                target=made.model.labels[one.target],
            )
        for by in explain_tokens(made, methods=real_methods()):
            for one, scores in zip(made.texts, by.scores, strict=True):
                word = one.tokens.word[one.tokens.content]
                of_words = np.bincount(word, scores) / np.bincount(word)
                held = of_words.tolist()
                write("scores.jsonl", world=name, seed=seed, id=one.id, method=by.who, scores=held)
        if isinstance(made.model, Transformer):
            save_whole(made.model, folder / name)
            written.append(folder / name)
    for name, rows in lines.items():
        write_text(folder / name, "".join(rows))
    return written


class GivenRows(NamedTuple):
    """The rows of a file with where each stands, the seed of all, and how many texts they reach."""

    rows: list[tuple[str, dict]]
    seed: int
    texts: int


@dataclass(frozen=True)
class Theirs:
    """Attributions made elsewhere.

    scores: (world, method) -> text's id -> (words,). file: what they were read from.
    """

    scores: dict[tuple[str, str], dict[str, np.ndarray]]
    file: GivenRows


@dataclass(frozen=True)
class TheirValues:
    """Values that metrics gave elsewhere.

    table: world, method, id, metric, value, a row each. metrics: what is known of each, by name.
    file: what they were read from.
    """

    table: pd.DataFrame
    metrics: dict[str, Metric]
    file: GivenRows


def _read_rows(path: Path | str, seed: int | None, what: str, needed: Sequence[str]) -> GivenRows:
    """The rows of a file of `what`, checked: world, seed and id."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no file {path}; {what} are jsonl with {', '.join(needed[:-1])} and {needed[-1]} in "
            "each line"
        )
    rows = []
    seeds = set()
    most = 0
    for number, row in enumerate(lines_of_json(read_text(path), path.name), 1):
        where = f"{path.name}, row {number}"
        if missing := [name for name in needed if row.get(name) is None]:
            raise ValueError(f"{where}: no {' and no '.join(missing)}; it has: {', '.join(row)}")
        if row["world"] not in WORLDS:
            raise ValueError(
                f"{where}: unknown world {row['world']!r}; there are: {', '.join(WORLDS)}"
            )
        id = str(row["id"])
        if not re.fullmatch(r".+ \d+", id):
            raise ValueError(f"{where}: id {id!r} is none of a text; they read like 'one 7 0'")
        seeds.add(int(row["seed"]))
        most = max(most, int(id.rpartition(" ")[2]) + 1)
        rows.append((where, row | {"id": id}))
    if len(seeds) != 1:
        raise ValueError(f"{path.name} holds texts of {len(seeds)} seeds; one trial has one")
    (own,) = seeds
    if seed is not None and seed != own:
        raise ValueError(
            f"{path.name} was made with seed {own}, and seed {seed} was asked for; leave out --seed"
        )
    return GivenRows(rows, own, most)


def read_theirs(path: Path | str, seed: int | None) -> Theirs:
    """Attributions of the texts of worlds, as `export_worlds` wrote them.

    Args:
        path: a jsonl file.
        seed: what the worlds are made with; None takes the file's.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: names the row and what is wrong with it.
    """
    needed = ("world", "seed", "id", "scores")
    found = _read_rows(path, seed, "attributions", needed)
    held: dict[tuple[str, str], dict[str, np.ndarray]] = defaultdict(dict)
    for where, row in found.rows:
        method = str(row.get("method") or THEIRS)
        held[row["world"], method][row["id"]] = read_scores(row, needed, where)
    return Theirs(dict(held), found)


def read_values(path: Path | str, seed: int | None) -> TheirValues:
    """What metrics elsewhere said of the scores that `export_worlds` wrote.

    Args, Raises: as `read_theirs`.
    """
    found = _read_rows(path, seed, "values", ("world", "seed", "id", "method", "metric"))
    rows: dict[tuple, float] = {}
    better: dict[str, bool] = {}
    for where, row in found.rows:
        name = str(row["metric"])
        value = row.get("value", "")
        if value is not None and type(value) not in (int, float):
            raise ValueError(
                f"{where}: `value` is a number, or null where there is none; got {value!r:.80}"
            )
        higher = row.get("higher_is_better", True)
        if higher is not better.setdefault(name, higher) or type(higher) is not bool:
            raise ValueError(
                f"{where}: `higher_is_better` is true or false, the same for all values of "
                f"{name!r}; got {higher!r}"
            )
        key = (row["world"], str(row["method"]), row["id"], name)
        if key in rows:
            raise ValueError(
                f"{where}: a second value of {name!r} for {row['method']!r} on {row['id']!r}"
            )
        rows[key] = np.nan if value is None else float(value)
    metrics = {
        name: metric(
            name,
            name=name,
            judge="",
            source=Path(path).name,
            needs=("scores", "model"),
            higher_is_better=higher,
        )(_given_elsewhere)
        for name, higher in better.items()
    }
    table = pd.Series(rows, name="value").rename_axis(["world", "explainer", "text", "metric"])
    return TheirValues(table.reset_index(), metrics, found)


def _given_elsewhere(text: ScoredText, method: str) -> float:
    """Values that were given elsewhere."""
    raise ValueError("this metric is known by its values alone")
