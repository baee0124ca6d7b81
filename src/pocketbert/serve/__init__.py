"""HTTP on this machine."""
