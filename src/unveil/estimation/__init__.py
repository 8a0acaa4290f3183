"""What all faces share: input, columns, words for parts, fits, files."""
