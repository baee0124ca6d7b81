"""Vectors of texts as numbers: compared, searched, grouped, rounded and drawn. numpy alone."""
