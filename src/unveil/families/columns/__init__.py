"""Some of the columns: marginals, missing cells, a column given those before it, units, ellipses over groups."""
