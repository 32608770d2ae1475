"""Before `quarto render` and `quarto preview`: stage a run where none is staged."""

import shutil
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
INSTALLED = shutil.which("attreval") or shutil.which("attreval", path=HOME / ".venv" / "bin")

if not (HOME / "_variables.yml").exists():
    if not INSTALLED:
        sys.exit(
            "Pages are made from a run's results, which `attreval stage` puts in their places, and "
            "attreval is not installed: `make .venv/.ready` installs it, then render again."
        )
    sys.exit(subprocess.call([INSTALLED, "stage"], cwd=HOME))
