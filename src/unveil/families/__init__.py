"""Families of distributions: what a component may look like."""
