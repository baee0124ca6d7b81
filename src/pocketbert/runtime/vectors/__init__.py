"""Sentence vectors as numbers: pooled from tokens, rounded, compared, searched, grouped and drawn. numpy alone."""
