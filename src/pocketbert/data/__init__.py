"""Corpora to batches, and questions to training sets."""
