"""HTML, Markdown, PDF and plain text, in any encoding, to text whose offsets lead back to the source."""

from __future__ import annotations

from pocketbert.text.pages.page import Kind, Offsets, Page, Part, Place
from pocketbert.text.pages.reading import page_from_text, read_page

__all__ = ["Kind", "Offsets", "Page", "Part", "Place", "page_from_text", "read_page"]
