"""Downloads, checks and opens what corpora are made from."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Say = Callable[[str], None]


class FetchError(RuntimeError):
    """A download, an archive or a table could not be had; the message says what would help."""


def full_disk(what: str, folder: Path | str) -> FetchError:
    return FetchError(
        f"the disk is full: writing {what} below {folder} failed. Free some space, or point "
        "ATTREVAL_DATA at "
        "a folder on another disk; then run the same command again, it goes on where it stopped"
    )


@contextmanager
def enough_disk(what: str, folder: Path | str) -> Iterator[None]:
    """Turn `no space left on device` inside the block into a FetchError."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise full_disk(what, folder) from error
