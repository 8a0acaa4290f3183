"""What is made of charts: sums, trees, draws, spans, prefixes."""
