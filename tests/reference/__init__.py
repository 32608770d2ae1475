"""Slow twins of methods and measures, close to their definitions, and the models they are compared on."""
