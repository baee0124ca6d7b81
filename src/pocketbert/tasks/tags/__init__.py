"""A label for every word, from CoNLL and CoNLL-U files: read, align with tokens, score."""
