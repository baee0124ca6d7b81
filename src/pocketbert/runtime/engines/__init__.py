"""What runs a graph: one module per engine, each imported only when a session asks for it."""
