"""A user's own table: csv, tsv, jsonl, Parquet, a folder of `datasets`, ERASER's folder.

Nothing is executed and no pickle is read. Every error says what was asked, what came, and what
would do.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attreval.core.nearest import nearest
from attreval.texts.decoding import lines_of_json, read_text

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMATS = (
    "csv, tsv, jsonl, Parquet, a folder of datasets.save_to_disk, or ERASER's folder (docs/ and "
    "test.jsonl)"
)
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
JSON = (".jsonl", ".ndjson", ".json")
ARCHIVES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # what the files begin with
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".npy", ".npz", ".joblib")
SPLIT = "split"
ERASER = {"train": "train", "val": "dev", "dev": "dev", "test": "test"}  # file -> split
ERASER_COLUMNS = ("id", "text", "query", "label", "rationale", SPLIT)


@dataclass(frozen=True)
class Table:
    """A table as read.

    Attributes:
        columns: The wanted ones, a list of values each.
        classes: Names for a column of class numbers.
        parted: Whether the files themselves say which split a row is of, in the column `split`.
    """

    columns: dict[str, list]
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parted: bool = False


def read_table(path: Path, wanted: Sequence[str] | None = None) -> Table:
    """The wanted columns of a file or folder, and `split` where its files are parted by split.

    Args:
        path: A file or folder in any of FORMATS.
        wanted: Names of columns; None for all that there are.

    Raises:
        ValueError: The format is another, columns are not there (names the nearest), or text is no
            UTF-8.
        FileNotFoundError: There is no such path; names what lies beside it.
    """
    must_exist(path)
    if path.is_dir():
        return _read_folder(path, wanted)
    with path.open("rb") as handle:
        start = handle.read(8)
    ending = path.suffix.lower()
    if start.startswith(b"PAR1"):
        file = open_parquet(path)
        check_columns(wanted, file.schema_arrow.names, path.name)
        return _pick_arrow(file.read(wanted and list(dict.fromkeys(wanted))), wanted, path)
    if start.startswith(ARCHIVES):
        raise ValueError(
            f"{path.name} is an archive or a spreadsheet; save the sheet as CSV UTF-8, and give "
            "that"
        )
    if start.startswith(b"\x80") or path.suffix in PICKLES:
        raise ValueError(
            f"{path.name} is a pickle or binary file, which may run code and is never read; give "
            f"{FORMATS}"
        )
    if ending in JSON:
        return _pick_rows(lines_of_json(read_text(path), path.name), wanted, path.name)
    if ending in DELIMITERS:
        return _read_delimited(path, wanted)
    raise ValueError(
        f"{path.name}: a file that ends in {path.suffix or 'nothing'!r} is not known; give "
        f"{FORMATS}"
    )


def read_texts(
    path: str | Path, column: str | None = None, pair_column: str | None = None
) -> list[str | tuple[str, str]]:
    """The texts of a file in any of FORMATS, or of a .txt file with a text a line.

    Args:
        path: The file.
        column: Where the texts stand; `text`, or the only one, where not named.
        pair_column: Of second texts; each row is a pair then.

    Raises:
        ValueError: A text is empty (names its row), a column is unknown; and as `read_table`.
    """
    path = Path(path)
    must_exist(path)
    if path.suffix.lower() == ".txt":
        if column or pair_column:
            raise ValueError(
                f"{path.name} holds a text a line and has no columns; use a .csv or .jsonl file"
            )
        columns = {"text": read_text(path).replace("\r\n", "\n").removesuffix("\n").split("\n")}
    else:
        wanted = [name for name in (column, pair_column) if name] if column else None
        columns = read_table(path, wanted).columns
    if column is None:
        named = [name for name in columns if name.lower() == "text"] or list(columns)
        if len(named) != 1:
            known = ", ".join(columns)
            raise ValueError(
                f"{path.name} has no column `text`; say with --column which of these holds the "
                f"texts: {known}"
            )
        (column,) = named
    wanted = [column, pair_column] if pair_column else [column]
    check_columns(wanted, list(columns), path.name)
    rows: list[Any] = list(zip(*(columns[name] for name in wanted), strict=True))
    if not rows:
        raise ValueError(f"{path.name} holds no text")
    for number, row in enumerate(rows, 1):
        for name, text in zip(wanted, row, strict=True):
            if not isinstance(text, str) or not text.strip():
                raise ValueError(
                    f"{path.name}, row {number}: `{name}` is no text ({text!r:.40}); leave the "
                    "row out, or give it one"
                )
    return rows if pair_column else [text for (text,) in rows]


def must_exist(path: Path) -> None:
    """Refuse a path that is not there.

    Raises:
        FileNotFoundError: Names the nearest beside it.
    """
    if not path.exists():
        beside = []
        if path.parent.is_dir():
            beside = sorted(other.name for other in path.parent.iterdir())
        raise FileNotFoundError(f"there is no file {path}{nearest(path.name, beside)}")


def is_parted(path: Path) -> bool:
    """Whether a folder holds a file or folder for each split."""
    return path.is_dir() and ((path / "dataset_dict.json").exists() or any(_eraser_files(path)))


def check_columns(wanted: Sequence[str] | None, there: Sequence[str], name: str) -> None:
    """Refuse columns that are not there, and two of one name.

    Args:
        wanted: Names of columns.
        there: Those that there are.
        name: Of the table, for messages.

    Raises:
        ValueError: Names the nearest ones, and those that are there.
    """
    for column in there:
        if column and there.count(column) > 1:
            raise ValueError(
                f"{name} has {there.count(column)} columns {column!r}; give each a name of its own"
            )
    for column in wanted or ():
        if column not in there:
            shown = ", ".join(map(repr, there[:20])) or "none"
            more = f" and {len(there) - 20} more" if len(there) > 20 else ""
            near = nearest(column, there)
            raise ValueError(f"{name} has no column {column!r}{near}; it has: {shown}{more}")


def open_parquet(path: Path) -> pq.ParquetFile:
    """A Parquet file, opened.

    Raises:
        ValueError: It is none.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(
            f"{path.name} cannot be read as Parquet, it may be cut off: {error}"
        ) from None


def _read_delimited(path: Path, wanted: Sequence[str] | None) -> Table:
    """The columns of a csv or tsv file as text: no number, date, formula or NA is made of it."""
    import csv
    import warnings

    import pandas as pd

    text = read_text(path)
    text = text if "\n" in text else text.replace("\r", "\n")
    if not text.strip():
        raise ValueError(
            f"{path.name} is empty: a first line of column names is needed, and a row a text"
        )
    usual = DELIMITERS[path.suffix.lower()]
    first = text.partition("\n")[0].rstrip("\r")
    asked = {name.lower() for name in wanted or ("text",)}
    heads = {}
    ranks = {}
    for one in dict.fromkeys((usual, ",", ";", "\t", "|")):
        names = [name.strip() for name in next(csv.reader([first], delimiter=one), [])]
        held = len(asked & {name.lower() for name in names})
        heads[one] = names
        ranks[one] = (held, one == usual and len(names) > 1, len(names))
    sign = max(ranks, key=ranks.__getitem__)
    as_it_stands = {"dtype": str, "keep_default_na": False, "na_filter": False, "index_col": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(io.StringIO(text, newline=""), sep=sign, **as_it_stands)
        except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError) as error:
            said = str(error).removeprefix("Error tokenizing data. C error: ")
            said = said.partition(". This leads")[0]
            raise ValueError(
                f"{path.name} is no table of columns parted by {sign!r}: {said}. A text that "
                f"holds {sign!r}, a quote or a line break stands in double quotes, with "
                '"" for a quote'
            ) from None
    check_columns((), heads[sign], path.name)  # pandas gives doubles other names
    frame.columns = [str(name).strip() for name in frame.columns]
    check_columns(wanted, list(frame.columns), path.name)
    return Table({name: frame[name].tolist() for name in wanted or frame.columns})


def _pick_rows(rows: Iterable[dict], wanted: Sequence[str] | None, name: str) -> Table:
    """The wanted keys of rows; a row without a key has None there."""
    rows = list(rows)
    there = list(dict.fromkeys(key for row in rows for key in row))
    check_columns(wanted, there, name)
    return Table({column: [row.get(column) for row in rows] for column in wanted or there})


def _read_arrow(paths: list[Path]) -> pa.Table:
    """One table of Arrow streams, as `datasets` writes them."""
    import pyarrow as pa

    tables = []
    for path in paths:
        try:
            tables.append(pa.ipc.open_stream(pa.memory_map(str(path))).read_all())
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"{path.name} cannot be read as Arrow, it may be cut off: {error}"
            ) from None
    return pa.concat_tables(tables)


def _pick_arrow(
    table: pa.Table, wanted: Sequence[str] | None, path: Path, features: dict | None = None
) -> Table:
    """The wanted columns of an Arrow table, and the class names that `datasets` wrote."""
    check_columns(wanted, table.column_names, path.name)
    about = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}"))
    known = about.get("info", {}).get("features", {}) | (features or {})
    columns = {column: table[column].to_pylist() for column in wanted or table.column_names}
    named = {column: (known.get(column) or {}).get("names") for column in columns}
    classes = {column: tuple(names) for column, names in named.items() if names is not None}
    return Table(columns, classes)


def _read_folder(path: Path, wanted: Sequence[str] | None) -> Table:
    """A folder of `datasets`, whole or with a folder a split, or ERASER's."""
    if (path / "dataset_dict.json").exists():
        names = json.loads((path / "dataset_dict.json").read_text(encoding="utf-8"))["splits"]
        own = wanted and [column for column in wanted if column != SPLIT]
        parts = [_read_saved(path / name, own) for name in names]
        columns = {
            column: [value for part in parts for value in part.columns[column]]
            for column in parts[0].columns
        }
        splits = []
        for name, part in zip(names, parts, strict=True):
            rows = next(iter(part.columns.values()))
            splits += [name] * len(rows)
        return Table(columns | {SPLIT: splits}, parts[0].classes, parted=True)
    if (path / "state.json").exists():
        return _read_saved(path, wanted)
    if any(_eraser_files(path)):
        check_columns(wanted, ERASER_COLUMNS, f"ERASER's folder {path.name}")
        picked = list(dict.fromkeys([*(wanted or ERASER_COLUMNS), SPLIT]))
        return Table(_pick_rows(_eraser_rows(path), picked, path.name).columns, parted=True)
    held = ", ".join(sorted(other.name for other in path.iterdir())[:8]) or "nothing"
    raise ValueError(
        f"the folder {path} holds no data that is known (it holds {held}); give {FORMATS}"
    )


def _read_saved(path: Path, wanted: Sequence[str] | None) -> Table:
    """What `datasets.Dataset.save_to_disk` wrote: Arrow streams, and the names of classes."""
    state = json.loads((path / "state.json").read_text(encoding="utf-8"))
    files = [path / Path(one["filename"]).name for one in state["_data_files"]]
    info = path / "dataset_info.json"
    features = None
    if info.exists():
        features = json.loads(info.read_text(encoding="utf-8")).get("features")
    return _pick_arrow(_read_arrow(files), wanted, path, features)


def _eraser_files(path: Path) -> Iterator[tuple[str, Path]]:
    """(split, file) of the annotations of an ERASER folder that are there."""
    for name, split in ERASER.items():
        file = path / f"{name}.jsonl"
        if file.exists():
            yield split, file


def _eraser_rows(path: Path) -> Iterator[dict]:
    """Rows of ERASER_COLUMNS: each annotation with its document (DeYoung et al. 2020)."""
    together = path / "docs.jsonl"  # in place of docs/
    rows = lines_of_json(read_text(together), together.name) if together.exists() else ()
    shared = {str(row.get("docid")): str(row.get("document")) for row in rows}
    for split, file in _eraser_files(path):
        for number, item in enumerate(lines_of_json(read_text(file), file.name), 1):
            name = _document_name(item)
            text = item.get("text") or item.get("document") or shared.get(name)
            text = text or _read_document(path / "docs", name)
            if text is None:
                raise ValueError(
                    f"{file.name}, line {number}: its document {name!r} is not in {path / 'docs'}"
                )
            yield {
                "id": item.get("annotation_id") or f"{split}-{number}",
                "text": text,
                "query": item.get("query"),
                "label": item.get("classification", item.get("label")),
                "rationale": item.get("evidences"),
                SPLIT: split,
            }


def _document_name(item: dict) -> str:
    """The document of an annotation: that of its first evidence, else what its id begins with."""
    for group in item.get("evidences") or ():
        for piece in group if isinstance(group, list) else [group]:
            if piece.get("docid"):
                return str(piece["docid"])
    docids = item.get("docids") or []
    return str(docids[0]) if docids else str(item.get("annotation_id", "")).partition(":")[0]


def _read_document(folder: Path, name: str) -> str | None:
    """A document of docs/, its sentences joined by spaces; None where there is no such name."""
    path = (folder / name).resolve()
    if not name or not path.is_relative_to(folder.resolve()) or not path.is_file():
        return None
    return " ".join(read_text(path).split("\n"))
