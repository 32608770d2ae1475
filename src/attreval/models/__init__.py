"""Text classifiers, their training, and the ledger through which everything asks them."""
