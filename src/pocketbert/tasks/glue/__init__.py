"""GLUE: its nine tasks and the diagnostic set, the official scores, and predictions as the server takes them."""
