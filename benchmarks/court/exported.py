"""What adapters share: a folder that `attreval trial --export` wrote, and a file for `--values`.

Nothing of attreval is imported: adapters run in their peer's environment. Letters used for shapes:
n words, L tokens.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One explanation. scores: n of them. target: the class explained, by number."""

    world: str
    seed: int
    id: str
    method: str
    words: list[str]
    scores: list[float]
    target: int

    @property
    def text(self) -> str:
        """The words with blanks between them."""
        return " ".join(self.words)


class Opened(NamedTuple):
    """A world: its network, its tokenizer and the explanations of its texts."""

    network: Any
    tokenizer: Any
    asked: list[Asked]


# what a metric is called -> its value, and whether higher is better
Said = Iterable[tuple[str, float, bool]]


def lines(path: Path) -> list[dict]:
    """The rows of a .jsonl."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def open_worlds(folder: Path) -> Iterator[Opened]:
    """The worlds of a folder that come with a model."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    texts = {row["id"]: row for row in lines(folder / "texts.jsonl")}
    rows = lines(folder / "scores.jsonl")
    for place in sorted(path.parent for path in folder.glob("*/config.json")):
        network = AutoModelForSequenceClassification.from_pretrained(place).eval()
        classes = network.config.label2id
        asked = []
        for row in rows:
            if row["world"] == place.name:
                text = texts[row["id"]]
                target = classes[text["target"]]
                asked.append(Asked(words=text["words"], target=target, **row))
        yield Opened(network, AutoTokenizer.from_pretrained(place), asked)


def serve(library: str, make: Callable[[Opened], Callable[[Asked], Said]]) -> None:
    """Ask a library's metrics about every explanation of a folder, and write what they say.

    What a metric draws derives from the text and the explanation.

    Args:
        library: its name, which goes before its metrics'.
        make: a world -> what is asked of an explanation.
    """
    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="that attreval trial --export wrote")
    parser.add_argument("out", type=Path, help="a .jsonl for attreval trial --values")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for world in open_worlds(given.folder):
        judge = make(world)
        for one in world.asked:
            torch.manual_seed(zlib.crc32(f"{one.id} {one.method}".encode()))
            row = {"world": one.world, "seed": one.seed, "id": one.id, "method": one.method}
            for name, value, higher in judge(one):
                known = None if math.isnan(value) else float(value)
                row |= {"metric": f"{library} {name}", "value": known, "higher_is_better": higher}
                rows.append(json.dumps(row) + "\n")
    part = given.out.with_name(given.out.name + ".part")
    part.write_text("".join(rows), encoding="utf-8")
    part.rename(given.out)
    print(f"{given.out}: {len(rows)} values, {', '.join(versions(library))}")


def versions(library: str) -> Iterator[str]:
    """What is installed here of a library and what it stands on."""
    for name in (library, "torch", "transformers", "numpy"):
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"{name} from a folder"
