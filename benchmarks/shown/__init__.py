"""Results as tables in Markdown, a module for each field."""
