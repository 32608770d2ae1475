"""Data, training, explaining: what comes before any paper."""
