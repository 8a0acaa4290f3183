"""Where a mixture starts."""
