"""Kernel K-means: centres that are known by their rows alone."""
