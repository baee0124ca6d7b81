"""Which of several texts goes on a text or answers it: read, featurise, score."""
