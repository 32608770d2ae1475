"""The unified framework of Sun et al. (2024): one ranking of tokens, pairs or spans under four
properties.
"""
