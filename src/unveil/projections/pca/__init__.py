"""Principal components by every route: moments, singular values, Lanczos, weights of cells, outliers."""
