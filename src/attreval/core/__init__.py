"""Records, seeds, tables and paths: what every other part stands on."""
