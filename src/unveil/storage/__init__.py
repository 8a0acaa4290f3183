"""The model file: arrays and a JSON header in one file that holds data, never code."""
