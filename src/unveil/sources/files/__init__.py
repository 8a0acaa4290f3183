"""Tables in files, read in blocks: CSV, Parquet, Feather, npy."""
