"""BERT-class reading in your pocket."""

__version__ = "0.1.0.dev0"
