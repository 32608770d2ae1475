"""The command line: the library's commands, and those that the study adds where it is installed."""

from importlib.metadata import entry_points
from importlib.util import find_spec

from attreval.cli import own_model, trial
from attreval.cli.app import app, refuse_study

for entry in entry_points(group="attreval.commands"):
    if find_spec(entry.module):
        entry.load()()
    else:
        refuse_study()

__all__ = ["app", "own_model", "trial"]
