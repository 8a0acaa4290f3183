"""Which centre is nearest: one exact rule, many ways to it, and sums by cluster."""
