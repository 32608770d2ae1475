"""The benchmark's scripts lie outside the package, side by side in one folder."""

import sys

from reference import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "benchmarks"))
