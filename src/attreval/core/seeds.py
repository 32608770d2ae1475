"""Seeds from names, so that adding a method or an instance moves nobody else's numbers."""

import hashlib

import numpy as np

Rng = np.random.Generator


def seed_of(*names: object) -> int:
    """A 63-bit seed from the names given (experiment, task, model, instance, method, ...)."""
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(*names: object) -> Rng:
    """A NumPy generator seeded by names."""
    return np.random.default_rng(seed_of(*names))
