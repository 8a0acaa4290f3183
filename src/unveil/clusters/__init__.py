"""Groups around centres: K-means and its kin."""
