"""Torch-free inference: sessions that run exported models, and the reader that answers questions with them."""
