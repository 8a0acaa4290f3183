"""Recursions over sequences of scores: arrays in, arrays out."""
