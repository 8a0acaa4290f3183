"""Numba functions, arrays in and arrays out: serial, without the interpreter's lock, cached on disk."""
