"""`attreval evaluate`: which explanation to trust for one's own model and texts."""
