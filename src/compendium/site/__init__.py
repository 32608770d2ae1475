"""The manuscript and its site, from what a run has left; by Quarto, or by pandoc."""
