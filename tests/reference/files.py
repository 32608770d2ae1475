"""Small files that tests make: lines of JSON, CSV, archives."""

import csv
import io
import json
import tarfile


def write_lines(path, items):
    """A file of JSON objects, one a line; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8"
    )
    return path


def write_csv(path, rows, sign=",", encoding="utf-8"):
    """A file of these rows, lists or mappings; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(rows[0], dict):
        rows = [
            list(rows[0]),
            *([json.dumps(v) if isinstance(v, list) else v for v in row.values()] for row in rows),
        ]
    with path.open("w", newline="", encoding=encoding) as handle:
        csv.writer(handle, delimiter=sign).writerows(rows)
    return path


def write_tar(path, texts):
    """An archive of these texts by name; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path
