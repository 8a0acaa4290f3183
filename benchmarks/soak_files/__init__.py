"""Mutated model files, opened and used in child processes: ``python -m benchmarks.soak_files [--files 100000]``."""
