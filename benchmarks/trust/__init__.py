"""Can verdicts be trusted? Planted failures, healthy fits, sizes and powers of what `unveil.examine` says."""
