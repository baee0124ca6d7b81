"""What `benchmarks/search.py` measures, one module for each, and what they need."""
