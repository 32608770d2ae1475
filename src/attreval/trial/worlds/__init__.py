"""Worlds, one file a world or family; `attreval.trial.WORLDS` collects them."""
