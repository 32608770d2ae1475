"""The manuscript and its site, from a run's results, by two routes that show the same."""

from attreval.report.errors import ReportError
from attreval.report.inventory import Inventory, inventory
from attreval.report.rendering import render
from attreval.report.staging import stage

__all__ = ["Inventory", "ReportError", "inventory", "render", "stage"]
