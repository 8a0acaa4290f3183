"""Probabilistic PCA and factor analysis: rows are mean + W z + noise."""
