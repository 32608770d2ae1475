"""What a profile will cost, before anything of it runs: evaluations, tokens, processor time and memory by step."""
