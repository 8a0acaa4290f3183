"""Rows in, answers out: how verbs open what models take, and what models say of it."""
