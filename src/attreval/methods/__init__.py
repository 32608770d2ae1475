"""Explanation methods: METHODS names each with its level, the models it applies to, its cost and its source."""

from attreval.methods.method import Method
from attreval.methods.registry import METHODS, methods_for, methods_in

__all__ = ["METHODS", "Method", "methods_for", "methods_in"]
