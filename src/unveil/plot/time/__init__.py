"""Figures of rows that have an order: regimes, how they follow each other, what comes next."""
