"""Steps, notebooks and the workflow that runs them."""
