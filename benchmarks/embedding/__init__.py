"""What `benchmarks/sentences.py` measures: contenders in processes of their own, and the cases that they are given."""
