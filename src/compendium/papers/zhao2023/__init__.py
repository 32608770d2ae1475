"""Zhao & Aletras (2023): soft and hard erasure, diagnosticity."""
