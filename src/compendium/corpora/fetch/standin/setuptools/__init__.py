"""A stand-in for setuptools, seen only by the pip that downloads source archives."""
