"""Explanations for people: a page, a terminal, a picture."""
