"""Fewer columns: principal components, factors, discriminants, sources, curves, maps."""
