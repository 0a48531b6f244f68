"""A call of a tool: its line, what it brought, and the question about it."""
