"""Generative topographic maps: a mixture whose means are tied to a lattice."""
