"""Smoothers along a curve: what each column is, on average, near a coordinate."""
