"""The benchmark's scripts lie outside the package, side by side in one folder."""

from __future__ import annotations

import sys

from reference import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "benchmarks"))
