"""The command line."""

from attreval.cli import own_model, project
from attreval.cli.app import app

__all__ = ["app", "own_model", "project"]
