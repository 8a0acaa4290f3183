"""Criteria for a number of clusters or components, one file each."""
