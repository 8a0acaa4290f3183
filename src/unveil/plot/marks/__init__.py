"""What figures are put together from: columns, a sample of rows, cells, labels, words under the pointer."""
