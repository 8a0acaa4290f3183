"""What is hidden, and how it is scored."""
