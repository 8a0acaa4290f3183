"""Figures of the columns of a table: how they go together, what is missing, what changed."""
