"""Kamp et al. (2023): agreement at k and dynamic k."""
