"""Where to start."""
