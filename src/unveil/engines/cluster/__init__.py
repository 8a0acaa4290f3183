"""What the Dask engine is made of: whose cluster, what is on its workers, one pass, and what is done about losses."""
