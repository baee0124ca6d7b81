"""Search: several runs of a recipe in recommended ranges, of which the best is kept."""
