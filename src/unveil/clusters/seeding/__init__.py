"""Rows to start from: random, k-means++, furthest-first, k-means||."""
