"""Families of which some parameters are fixed or tied."""
