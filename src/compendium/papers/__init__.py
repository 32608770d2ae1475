"""What each paper asks, by paper; only `joint` reads the others."""
