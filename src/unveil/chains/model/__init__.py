"""The mathematics of a chain: E steps, M steps, constraints, coordinates."""
