"""Classifiers, and the ledger through which everything asks them: see scorer, questions, classifier
and loading.
"""
