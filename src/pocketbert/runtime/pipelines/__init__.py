"""The pipelines of transformers in the light runtime: their arguments, their dictionaries, a module for each task."""
