"""The mathematics of a mixture: E steps, M steps, coordinates."""
