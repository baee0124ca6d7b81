"""Tables of any size through a model: Parquet in, Parquet out, part by part, on this machine or on many."""
