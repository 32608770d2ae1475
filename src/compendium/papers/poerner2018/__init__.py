"""Poerner et al. (2018): the pointing game."""
