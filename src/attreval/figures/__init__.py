"""The figures: one function each, from a table to axes."""
