"""K-means: the face, its geometries, models and starts."""
