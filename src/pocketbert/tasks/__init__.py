"""One place per benchmark: read its files, turn them into features, score answers by the official metric."""
