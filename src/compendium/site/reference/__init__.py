"""The site's reference: Python's way in, a card for each method and each metric, from docstrings and registries."""
