"""The folder of a report: whose it is, that one call alone writes to it, and the settings that it was made with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attreval.core.tables import write_whole

MARKER = "about-this-folder.txt"
MARK_TEXT = """Written by `attreval evaluate`: report.html is the report, texts.html shows texts in colour.
All here but this file is replaced when the command runs again with this folder as --out; what `kept` holds of
explained texts is taken up again.
"""


def check_folder(out: Path) -> None:
    """ValueError for a folder of a report that holds what no report has left: nothing of anybody's is overwritten."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out is a folder for the report; {out} is a file")
    if out.is_dir() and not (out / MARKER).exists() and (found := sorted(path.name for path in out.iterdir())):
        raise ValueError(
            f"--out {out} holds {found[0]}{f' and {len(found) - 1} more' if found[1:] else ''}, and is no folder of a "
            f"report ({MARKER}): files are replaced there, so name a new folder"
        )


@contextmanager
def hold_folder(out: Path, settings: Mapping[str, Any]) -> Iterator[None]:
    """Make the folder of a report, say in it whose it is, and keep other calls out while this one writes to it.

    settings: the arguments that the same evaluation is asked for with. ValueError where another call holds it.
    """
    import fcntl

    out.mkdir(parents=True, exist_ok=True)
    with (out / MARKER).open("a+", encoding="utf-8") as marker:
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system lets go of it, however a call ends
        except BlockingIOError:
            raise ValueError(
                f"another call writes its report to --out {out} at the moment: wait for it, or name another folder"
            ) from None
        marker.truncate(0)
        marker.write(MARK_TEXT)
        marker.flush()
        with write_whole(out / "settings.json") as part:
            part.write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        yield
