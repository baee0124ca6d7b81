"""A reader and all that a browser needs to run it, as one folder: a page, an extension or a package for npm."""
