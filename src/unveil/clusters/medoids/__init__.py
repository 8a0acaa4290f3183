"""K-medoids: centres among the rows, under any dissimilarity."""
