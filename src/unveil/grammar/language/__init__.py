"""Rules, trees, notation and algebra of grammars; no sentences."""
