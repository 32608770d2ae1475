"""The command line: the library's commands, and the study's where it is installed."""

import importlib
from importlib.util import find_spec

from attreval.cli import own_model, trial
from attreval.cli.app import app

if find_spec("compendium") and find_spec("snakemake"):  # the extra `compendium` is installed
    importlib.import_module("compendium.cli")

__all__ = ["app", "own_model", "trial"]
