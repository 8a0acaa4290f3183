"""Probabilistic context-free grammars: the face, its input, starts and model."""
