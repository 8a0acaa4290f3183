"""Charts of sentences, filled: arrays in, arrays out."""
