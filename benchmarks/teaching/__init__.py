"""What `transfer.py` and `compress.py` share, and their parts."""
