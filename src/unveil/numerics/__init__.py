"""Arrays in, arrays out: what knows no model."""
