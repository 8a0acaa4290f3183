"""What a density says of rows, and what rows say of it: the tests of a mixture, and how large they are by chance."""
