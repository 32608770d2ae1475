"""Python's way in: a classifier of one's own, its explanations, and what metrics say of them."""
