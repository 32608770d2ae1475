"""Download, check, open and make tables."""
