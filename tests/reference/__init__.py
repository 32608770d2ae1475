"""Slow twins of methods and measures, close to their definitions, and the models they are compared
on.
"""

import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported: no test asks a hub
CHECKOUT = Path(__file__).resolve().parents[2]  # the project that the tests belong to
