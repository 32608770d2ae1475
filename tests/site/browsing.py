"""The browser that the site is tested in, where there is one."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MISSING = "no chromium, chromium-browser or google-chrome on the PATH, or no playwright package"
IN_BROWSER = [pytest.mark.browser, pytest.mark.skipif(not BROWSER or not find_spec("playwright"), reason=MISSING)]
