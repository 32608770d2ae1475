"""Sun et al. (2024): tokens, pairs and spans under four properties."""
