"""Sentence vectors: read pairs, triplets and collections, make vectors, and score them."""
