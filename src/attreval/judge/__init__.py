"""The judges: each asks one question of attributions."""
