"""Data sets with a known answer, small ones in files and others drawn from a seed, and what unveil finds in them."""
