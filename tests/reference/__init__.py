"""Slow twins of methods and measures, close to their definitions, and the models they are compared on."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]  # the project that the tests belong to
