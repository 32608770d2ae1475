"""Classifiers, and the ledger through which everything asks them (scorer, questions, loading)."""
