"""Text tables: how a file is written (guessed from a sample), and its cells as typed columns."""
