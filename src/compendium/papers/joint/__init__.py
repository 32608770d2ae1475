"""Every method before every metric."""
