"""What the notebooks call: each function takes a profile, asks the corpora, models and judges, and gives tables."""
