"""`attreval claims --again` where neither torch nor any corpus is."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
from attreval.cli import app

app(["claims", "--again", "--json", *sys.argv[1:]])
"""


def judge_alone(nowhere: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    """The command in a process of its own. nowhere: an empty folder, for downloads."""
    left = {name: value for name, value in os.environ.items() if name != "ATTREVAL_CORPORA"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=left | {"ATTREVAL_DATA": str(nowhere), **environment},
        capture_output=True,
        text=True,
        timeout=2400,
    )
