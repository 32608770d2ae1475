"""The explorer of single texts: what a run has left (read), in little space (pack), as one page (page and js/)."""
