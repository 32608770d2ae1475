"""Metrics of attributions, by concept."""
