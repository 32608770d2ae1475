"""Gauss's rule on [0, 1], by which paths of gradients and expected agreement are integrated."""

from functools import cache

import numpy as np


@cache
def gauss_legendre(steps: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """m nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    nodes = (nodes + 1) / 2
    return tuple(nodes), tuple(weights / 2)
