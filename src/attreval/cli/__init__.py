"""The command line: the library's commands, and the study's where it is installed."""

import importlib
from importlib.util import find_spec

from attreval.cli import own_model
from attreval.cli.app import app

if find_spec("compendium"):  # a checkout; the wheel brings the library alone
    importlib.import_module("compendium.cli")

__all__ = ["app", "own_model"]
