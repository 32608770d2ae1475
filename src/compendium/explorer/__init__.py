"""The explorer of single texts: what a run has left (read) as one page (page and js/)."""
