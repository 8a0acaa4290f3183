"""Are the groups real? Which components are one cluster, and whether clusters are apart and come back."""
