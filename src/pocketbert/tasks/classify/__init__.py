"""Labels for whole texts from one's own tables: read, split, featurise, score."""
