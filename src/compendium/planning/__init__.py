"""What a profile will cost, before anything of it runs."""
