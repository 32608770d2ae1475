"""What the papers share: runs, evidence, published values, claims, the look of figures."""
