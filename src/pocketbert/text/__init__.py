"""Strings to ids and back: the tokenizer, and windows over documents longer than a model can read at once."""

from __future__ import annotations

from pocketbert.text.encoding import Batch, Encoding
from pocketbert.text.tokenizer import Tokenizer
from pocketbert.text.windows import Window, iter_windows, pad_windows, windows, windows_from_encodings

__all__ = [
    "Batch",
    "Encoding",
    "Tokenizer",
    "Window",
    "iter_windows",
    "pad_windows",
    "windows",
    "windows_from_encodings",
]
