"""Figures of groups of rows: where they lie, what sets them apart, which rows belong to none."""
