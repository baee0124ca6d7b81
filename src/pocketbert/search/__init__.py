"""Folders you can ask: documents to passages, passages to an index, an index to answers; without torch."""
