"""Four ways to judge token attributions of text classifiers, implemented and compared."""

__version__ = "0.1.0"
