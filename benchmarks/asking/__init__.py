"""What `benchmarks/ask.py` measures, one module for each."""
