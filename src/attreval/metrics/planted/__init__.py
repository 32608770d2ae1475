"""Metrics put to the test on planted models, whose true importances are known."""
