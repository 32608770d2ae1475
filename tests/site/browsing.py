"""The browser that the site is tested in, where there is one."""

import shutil
from importlib.util import find_spec

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in OFF)]
MISSING = "no chromium, chromium-browser or google-chrome on the PATH, or no playwright package"
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER or not find_spec("playwright"), reason=MISSING),
]
