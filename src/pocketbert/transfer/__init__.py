"""Knowledge transfer: what a student learns from a frozen teacher, layer by layer and word by word."""
