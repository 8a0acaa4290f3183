"""Protocols, statistics, the loop and its result. Knows no model, engine or source by name."""
